-- purpose: the rows behind every chart and list, with the figures that may be drawn and the side of each bound they lie on
-- grain: one row a pair that reached curation
-- parameters: none
-- columns: all of scored; valid; *_figure = the figure of a valid pair where it is finite, else null (ratio_figure is the
--   signed base-2 logarithm of chosen : rejected tokens); *_side = 0 inside the bound, else outside, taken from the
--   engine's exact reasons and never from these doubles (ratio_side: 1 chosen is longer, -1 rejected is longer)
create view charted as
with named as (
    select
        *,
        primary_reason is distinct from 'invalid_record' as valid,
        coalesce(list_contains(reasons, 'non_positive_margin'), false) as margin_fails,
        coalesce(list_contains(reasons, 'length_bias'), false) as ratio_fails,
        coalesce(list_contains(reasons, 'logp_collapse'), false) as drift_fails,
        chosen_token_count >= rejected_token_count as chosen_not_shorter
    from scored
)
select
    * exclude (margin_fails, ratio_fails, drift_fails, chosen_not_shorter),
    case when valid and isfinite(margin) then margin end as margin_figure,
    case
        when not valid or not isfinite(length_ratio) or length_ratio <= 0 then null
        when chosen_not_shorter then log2(length_ratio)
        else -log2(length_ratio)
    end as ratio_figure,
    case when valid and isfinite(drift) then drift end as drift_figure,
    case when valid and isfinite(rpo_loss) then rpo_loss end as loss_figure,
    case when margin_fails then 1 else 0 end as margin_side,
    case when not ratio_fails then 0 when chosen_not_shorter then 1 else -1 end as ratio_side,
    case when drift_fails then 1 else 0 end as drift_side
from named;

-- A bin is numbered from its anchor, which lies on an edge: the anchor is the grid's bound, and a figure equal to it
-- must fall on the side that the rule gives it. Below the first bin is first - 1, above the last is last + 1. The case
-- keeps null apart: greatest and least would skip it, and a pair without the figure would land in the first bin.
create macro clamped_bin(bin, first_bin, last_bin) as
    cast(case when bin is not null then greatest(least(bin, last_bin + 1), first_bin - 1) end as integer);

-- [edge, next edge): the bound itself holds (drift)
create macro left_closed_bin(x, anchor, step, first_bin, last_bin) as
    clamped_bin(floor((x - anchor) / step), first_bin, last_bin);

-- (edge, next edge]: the bound itself fails (margin)
create macro right_closed_bin(x, anchor, step, first_bin, last_bin) as
    clamped_bin(ceil((x - anchor) / step) - 1, first_bin, last_bin);

-- bin 0 lies around zero, from -anchor to anchor; the others are closed on the side away from it: both bounds hold
-- (length ratio)
create macro mirrored_bin(x, anchor, step, first_bin, last_bin) as
    clamped_bin(
        case when x is not null then sign(x) * greatest(ceil((abs(x) - anchor) / step), 0) end, first_bin, last_bin
    );

create macro in_range(bin, from_bin, to_bin) as
    (from_bin is null or coalesce(bin >= from_bin, false)) and (to_bin is null or coalesce(bin <= to_bin, false));
