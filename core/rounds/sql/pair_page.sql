-- purpose: one page of pairs, chosen and sorted; the order is total, so a page is the same on every run
-- grain: one row a pair
-- parameters: $state, $reason, $any_reason (true: reason may be a further one), $origin, $judge_id, $search (in pair id,
--   prompt and answers, letter case ignored), $pair_id (this one, where it matches): null = all; the bins and chosen bins as in histograms.sql; $sort, $sign (1
--   lowest first, -1 highest first), $limit, $offset
-- columns: ordinal, pair_id, origin, state, judge_id, primary_reason, reasons, sub_code, held_check, margin, drift,
--   length_ratio, longer_side, rpo_loss, rank, total (pairs that match, on all pages)
with found as (
    select ordinal
    from texts
    where $search is not null and (
        contains(lower(prompt), lower($search))
        or contains(lower(chosen), lower($search))
        or contains(lower(rejected), lower($search))
    )
),
matched as (
    select
        ordinal,
        pair_id,
        $sign * case $sort
            when 'margin' then margin_figure
            when 'ratio' then length_ratio
            when 'drift' then drift_figure
            when 'loss' then loss_figure
            when 'rank' then rank
            when 'input' then ordinal
        end as sort_key,
        count(*) over () as total
    from charted
    where
        ($state is null or state = $state)
        and ($reason is null or primary_reason = $reason or ($any_reason and list_contains(reasons, $reason)))
        and ($origin is null or origin = $origin)
        and ($judge_id is null or judge_id = $judge_id)
        and ($pair_id is null or pair_id = $pair_id)
        and ($search is null or contains(lower(pair_id), lower($search)) or ordinal in (select ordinal from found))
        and in_range(right_closed_bin(margin_figure, $margin_anchor, $margin_step, $margin_first, $margin_last), $margin_from, $margin_to)
        and in_range(mirrored_bin(ratio_figure, $ratio_anchor, $ratio_step, $ratio_first, $ratio_last), $ratio_from, $ratio_to)
        and in_range(left_closed_bin(drift_figure, $drift_anchor, $drift_step, $drift_first, $drift_last), $drift_from, $drift_to)
        and in_range(left_closed_bin(loss_figure, $loss_anchor, $loss_step, $loss_first, $loss_last), $loss_from, $loss_to)
),
page as (
    select * from matched
    order by sort_key nulls last, pair_id, ordinal
    limit $limit offset $offset
)
select
    page.ordinal,
    page.pair_id,
    scored.origin,
    scored.state,
    scored.judge_id,
    scored.primary_reason,
    scored.reasons,
    scored.sub_code,
    scored.held_check,
    scored.margin,
    scored.drift,
    scored.length_ratio,
    scored.longer_side,
    scored.rpo_loss,
    scored.rank,
    page.total
from page
join scored on scored.ordinal = page.ordinal
order by page.sort_key nulls last, page.pair_id, page.ordinal;
