-- purpose: whose pairs are held, and by which failing check
-- grain: one row a judge and check
-- parameters: none
-- columns: judge_id (null: the pair names none), held_check, pairs
select judge_id, held_check, count(*) as pairs
from scored
where state = 'held'
group by judge_id, held_check
order by pairs desc, judge_id nulls last, held_check;
