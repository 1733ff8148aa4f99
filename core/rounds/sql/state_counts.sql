-- purpose: where every input row ended; the four numbers that add up to what came in
-- grain: one row
-- parameters: none
-- columns: admitted, rejected, held (pairs), quarantined (input rows)
select
    (select count(*) from scored where state = 'admitted') as admitted,
    (select count(*) from scored where state = 'rejected') as rejected,
    (select count(*) from scored where state = 'held') as held,
    (select count(*) from quarantine) as quarantined;
