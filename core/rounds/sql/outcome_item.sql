-- purpose: every outcome of one holdout item, to open it
-- grain: one row an arm and run
-- parameters: $id
-- columns: those of outcomes
select *
from outcomes
where id = $id
order by arm, run;
