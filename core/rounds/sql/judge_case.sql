-- purpose: one case of a judge with its texts, in both orders where both were judged
-- grain: one row an order
-- parameters: $judge_id, $case_id
-- columns: those of judge_records
select *
from judge_records
where judge_id = $judge_id and case_id = $case_id
qualify row_number() over (partition by order_swapped) = 1
order by order_swapped;
