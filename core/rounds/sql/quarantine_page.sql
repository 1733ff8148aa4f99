-- purpose: one page of the rows that ingest could not type
-- grain: one row an input row
-- parameters: $search (in file, field, code and raw text, letter case ignored), null = all; $limit, $offset
-- columns: part, file, line, field, code, expected, raw, total
select part, file, line, field, code, expected, raw, count(*) over () as total
from quarantine
where
    $search is null
    or contains(lower(file), lower($search))
    or contains(lower(field), lower($search))
    or contains(lower(code), lower($search))
    or contains(lower(raw), lower($search))
order by part, file, line, field, code, raw
limit $limit offset $offset;
