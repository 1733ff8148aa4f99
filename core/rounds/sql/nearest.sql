-- purpose: how close the round comes to each bound from either side
-- grain: one row
-- parameters: none
-- columns: *_inside, *_outside = the figure nearest to the bound on that side (null where that side is empty); the length
--   ratio is the longer side over the shorter
select
    min(margin_figure) filter (where margin_side = 0) as margin_inside,
    max(margin_figure) filter (where margin_side = 1) as margin_outside,
    max(length_ratio) filter (where ratio_side = 0) as ratio_inside,
    min(length_ratio) filter (where ratio_side <> 0) as ratio_outside,
    min(drift_figure) filter (where drift_side = 0) as drift_inside,
    max(drift_figure) filter (where drift_side = 1) as drift_outside
from charted
where valid;
