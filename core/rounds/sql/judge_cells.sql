-- purpose: a judge's records by cell of the confusion table
-- grain: one row a judge and cell
-- parameters: none
-- columns: judge_id, cell (as in judge_cases.sql), cases
with first_rows as (
    select judge_id, rubric_approved, verifier_passed
    from judge_records
    where not order_swapped
    qualify row_number() over (partition by judge_id, case_id) = 1
)
select
    judge_id,
    case
        when rubric_approved is null or verifier_passed is null then 'missing'
        when verifier_passed then case when rubric_approved then 'tp' else 'fn' end
        else case when rubric_approved then 'fp' else 'tn' end
    end as cell,
    count(*) as cases
from first_rows
group by all
order by judge_id, cell;
