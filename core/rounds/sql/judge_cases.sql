-- purpose: one page of the cases in a cell of a judge's confusion table; rows in swapped order never count
-- grain: one row a case
-- parameters: $judge_id; $cell: tp, fp, fn, tn, missing (no usable verdict on either side), null = all; $limit, $offset
-- columns: case_id, cell, rubric_approved, verifier_passed, rubric_score, slice, choice, total
with first_rows as (
    -- a repeat that is equal in all columns is counted once; conflicting ones never pass ingest
    select *
    from judge_records
    where judge_id = $judge_id and not order_swapped
    qualify row_number() over (partition by case_id) = 1
),
placed as (
    select
        *,
        case
            when rubric_approved is null or verifier_passed is null then 'missing'
            when verifier_passed then case when rubric_approved then 'tp' else 'fn' end
            else case when rubric_approved then 'fp' else 'tn' end
        end as cell
    from first_rows
)
select case_id, cell, rubric_approved, verifier_passed, rubric_score, slice, choice, count(*) over () as total
from placed
where $cell is null or cell = $cell
order by case_id
limit $limit offset $offset;
