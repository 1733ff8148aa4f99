-- purpose: what the charts count, kept in memory: a brush then reads neither the file nor the lists of reasons again
-- grain: one row a valid pair
-- parameters: none
-- columns: state, judge_id, the *_figure and *_side columns of charted
create table if not exists figures as
select
    cast(state as enum ('admitted', 'held', 'rejected')) as state,
    judge_id,
    margin_figure,
    ratio_figure,
    drift_figure,
    loss_figure,
    cast(margin_side as tinyint) as margin_side,
    cast(ratio_side as tinyint) as ratio_side,
    cast(drift_side as tinyint) as drift_side
from charted
where valid;
