-- purpose: how many pairs each reason rejects, as primary reason (sums to the rejected total) and at all
-- grain: one row a reason, in the order given
-- parameters: $reasons list of reason codes in the order that decides the primary one
-- columns: reason; primary_pairs, all_pairs (rejected pairs); held_pairs (held pairs that carry it, counted apart)
with wanted as (
    select unnest($reasons) as reason, unnest(range(len($reasons))) as position
),
primary_counts as (
    select primary_reason as reason, count(*) as pairs
    from scored
    where state = 'rejected'
    group by primary_reason
),
carried as (
    select unnest(reasons) as reason, state from scored where state in ('rejected', 'held')
),
all_counts as (
    select
        reason,
        count(*) filter (where state = 'rejected') as rejected_pairs,
        count(*) filter (where state = 'held') as held_pairs
    from carried
    group by reason
)
select
    wanted.reason,
    coalesce(primary_counts.pairs, 0) as primary_pairs,
    coalesce(all_counts.rejected_pairs, 0) as all_pairs,
    coalesce(all_counts.held_pairs, 0) as held_pairs
from wanted
left join primary_counts using (reason)
left join all_counts using (reason)
order by wanted.position;
