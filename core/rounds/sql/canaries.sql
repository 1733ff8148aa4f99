-- purpose: the canaries of the round, failed ones first
-- grain: one row a canary
-- parameters: $limit, $offset
-- columns: id, passed, prompt, response, total
select id, passed, prompt, response, count(*) over () as total
from sanity
order by passed, id
limit $limit offset $offset;
