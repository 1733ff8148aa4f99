-- purpose: the origins and judges a state offers as filters
-- grain: one row an origin and judge
-- parameters: $state, null for all
-- columns: origin, judge_id (null where none), pairs
select origin, judge_id, count(*) as pairs
from scored
where $state is null or state = $state
group by origin, judge_id
order by origin, judge_id nulls first;
