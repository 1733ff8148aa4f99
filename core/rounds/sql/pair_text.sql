-- purpose: the texts of one pair; read by ordinal alone, so that one small row group is decoded
-- grain: one row
-- parameters: $ordinal
-- columns: those of text
select *
from texts
where ordinal = $ordinal;
