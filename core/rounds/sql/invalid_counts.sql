-- purpose: what is wrong with the invalid records
-- grain: one row a sub-code, most pairs first
-- parameters: none
-- columns: sub_code, pairs (first sub-code that applies: sums to the invalid records)
select sub_code, count(*) as pairs
from scored
where primary_reason = 'invalid_record'
group by sub_code
order by pairs desc, sub_code;
