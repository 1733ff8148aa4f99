-- purpose: the bars of the four linked charts in one pass; each chart is narrowed by the ranges set on the other three
-- grain: one row a measure, state, bin and side of the bound
-- parameters: $judge_id, null for all pairs; $margin_anchor, $margin_step, $margin_first, $margin_last, $ratio_anchor, $ratio_step, $ratio_first, $ratio_last,
--   $drift_anchor, $drift_step, $drift_first, $drift_last, $loss_anchor, $loss_step, $loss_first, $loss_last: the bins;
--   $margin_from, $margin_to, $ratio_from, $ratio_to, $drift_from, $drift_to, $loss_from, $loss_to: chosen bins, null = open
-- columns: measure, state, bin (null: the pair has no such figure), side, pairs
with binned as (
    select
        state,
        margin_side,
        ratio_side,
        drift_side,
        right_closed_bin(margin_figure, $margin_anchor, $margin_step, $margin_first, $margin_last) as margin_bin,
        mirrored_bin(ratio_figure, $ratio_anchor, $ratio_step, $ratio_first, $ratio_last) as ratio_bin,
        left_closed_bin(drift_figure, $drift_anchor, $drift_step, $drift_first, $drift_last) as drift_bin,
        left_closed_bin(loss_figure, $loss_anchor, $loss_step, $loss_first, $loss_last) as loss_bin
    from figures
    where $judge_id is null or judge_id = $judge_id
),
flagged as (
    select
        *,
        in_range(margin_bin, $margin_from, $margin_to) as margin_in,
        in_range(ratio_bin, $ratio_from, $ratio_to) as ratio_in,
        in_range(drift_bin, $drift_from, $drift_to) as drift_in,
        in_range(loss_bin, $loss_from, $loss_to) as loss_in
    from binned
),
counted as (
    select
        case
            when grouping(margin_bin) = 0 then 'margin'
            when grouping(ratio_bin) = 0 then 'ratio'
            when grouping(drift_bin) = 0 then 'drift'
            else 'loss'
        end as measure,
        state,
        case
            when grouping(margin_bin) = 0 then margin_bin
            when grouping(ratio_bin) = 0 then ratio_bin
            when grouping(drift_bin) = 0 then drift_bin
            else loss_bin
        end as bin,
        case
            when grouping(margin_bin) = 0 then margin_side
            when grouping(ratio_bin) = 0 then ratio_side
            when grouping(drift_bin) = 0 then drift_side
            else 0
        end as side,
        case
            when grouping(margin_bin) = 0 then count(*) filter (where ratio_in and drift_in and loss_in)
            when grouping(ratio_bin) = 0 then count(*) filter (where margin_in and drift_in and loss_in)
            when grouping(drift_bin) = 0 then count(*) filter (where margin_in and ratio_in and loss_in)
            else count(*) filter (where margin_in and ratio_in and drift_in)
        end as pairs
    from flagged
    group by grouping sets (
        (state, margin_bin, margin_side), (state, ratio_bin, ratio_side), (state, drift_bin, drift_side), (state, loss_bin)
    )
)
select measure, cast(state as varchar) as state, bin, side, pairs
from counted
where pairs > 0
order by measure, state, bin nulls last, side;
