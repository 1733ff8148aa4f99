-- purpose: the outcomes of chosen holdout items in both arms, in the order given (the assessment says which items flipped:
--   reducing several runs to one outcome is the engine's work, not a query's)
-- grain: one row an item
-- parameters: $ids list of item ids
-- columns: id, slice, cluster, baseline_passes, baseline_runs, candidate_passes, candidate_runs (0 runs: no outcome)
with wanted as (
    select unnest($ids) as id, unnest(range(len($ids))) as position
)
select
    wanted.id,
    min(outcomes.slice) as slice,
    min(outcomes.cluster) as cluster,
    count(*) filter (where arm = 'baseline' and passed) as baseline_passes,
    count(*) filter (where arm = 'baseline') as baseline_runs,
    count(*) filter (where arm = 'candidate' and passed) as candidate_passes,
    count(*) filter (where arm = 'candidate') as candidate_runs
from wanted
left join outcomes using (id)
group by wanted.id, wanted.position
order by wanted.position;
