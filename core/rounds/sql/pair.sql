-- purpose: everything the engine stored about one pair id; more than one row where the id is shared (duplicate_pair_id)
-- grain: one row a pair, in input order
-- parameters: $pair_id, $limit
-- columns: those of scored; shared_by (rows that carry the id)
select *, count(*) over () as shared_by
from scored
where pair_id = $pair_id
order by ordinal
limit $limit;
