"""lighteval: the details Parquet of a task, ``details_{task}_{date}.parquet``, one row a document.

Only the columns that are asked for are read: the rest of a details file (log-probs with infinities, token lists, images) has no
place in a round. Details of older releases, whose columns are texts of Python literals, are refused: their values cannot be read
exactly. Structure: lighteval/logging/info_loggers.py of huggingface/lighteval (``doc``, ``model_response``, ``metric``).
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import RoundError, Where
from core.rounds.arrow_json import json_value
from core.rounds.columns import CellFault
from core.rounds.folder import bounded_rows
from core.rounds.readers.contents import name_parts
from core.rounds.readers.format import Declared, Format, Option
from core.rounds.readers.outcome_rows import OPTIONS, PART, Outcomes, digest_of, mapped
from core.rounds.readers.packed import seekable, too_much, unpacked_limit
from core.rounds.readers.places import IdPlace
from core.rounds.readers.verdicts import VerdictRule, check_direction
from core.rounds.strict import nearest
from core.rounds.typing_rows import RawRow
from core.settings import SETTINGS

NAME: Final = "lighteval"
_SUFFIX: Final = ".parquet"
_METRIC, _TEXT, _DOC_ID, _QUERY = "metric", "model_response.text", "doc.id", "doc.query"
_STRUCTS: Final = ("doc", "model_response", _METRIC)


class _Details:
    """Reads the rows of one details file."""

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._metric: str | None = declared.options.get("metric")
        self._ids = IdPlace(declared.options.get("id", _DOC_ID), NAME)
        self._outcomes: Outcomes | None = None
        self._read = 0

    @property
    def columns(self) -> list[str]:
        """The columns, and members of structs, that are read."""
        options = self._declared.options
        return [*self._ids.places, _METRIC, _TEXT, _QUERY, *(options[name] for name in ("slice", "cluster") if name in options)]

    def outcome(self, row: dict[str, Any]) -> dict[str, Any]:
        """One row as an outcome. Raises CellFault."""
        self._read += 1
        values = {name: value for name, value in (row.get(_METRIC) or {}).items() if value is not None}
        if self._outcomes is None:
            self._metric = self._metric or _only_metric(values)
            check_direction(self._metric, self._declared)
            rule = VerdictRule(self._declared, f"{_METRIC}.{self._metric}")
            self._outcomes = Outcomes(self._declared, self._ids, rule)
        metric = self._metric or ""
        if metric not in (row.get(_METRIC) or {}):
            near = nearest(metric, list(values))
            got = f"the metrics {', '.join(values) or 'none'}" + (f"; did you mean {near!r}?" if near else "")
            raise CellFault(f"{_METRIC}.{metric}", "missing_field", "the metric that was declared", got)
        asked = digest_of("prompt_hash", (row.get("doc") or {}).get("query"))
        return self._outcomes.outcome(row, values.get(metric), response=_response(row), extra=asked)

    def finish(self) -> None:
        """Check the file as a whole and add its notes."""
        if not self._read:
            raise RoundError("no_rows", expected="at least one row", got="none", remedy="hand over the whole file", where=Where(self._declared.file))
        if self._outcomes is not None:
            self._outcomes.finish()


def _only_metric(values: Mapping[str, Any]) -> str:
    if len(values) != 1:
        got = f"the metrics {', '.join(values) or 'none'}"
        raise CellFault(_METRIC, "missing_option", "one metric, declared (--option metric=NAME)", got)
    return next(iter(values))


def _response(row: Mapping[str, Any]) -> str | None:
    """What the model wrote, where it was asked once."""
    texts = (row.get("model_response") or {}).get("text")
    return texts[0] if isinstance(texts, list) and len(texts) == 1 and isinstance(texts[0], str) else None


def rows(declared: Declared) -> Iterator[RawRow]:
    """The outcomes of a details file. Raises RoundError where it is no details file of this layout."""
    details = _Details(declared)
    return mapped(_raw_rows(declared, details.columns), details.outcome, details.finish)


def _raw_rows(declared: Declared, columns: list[str]) -> Iterator[RawRow]:
    file, line = declared.file, 0
    with ExitStack() as stack:
        table = _opened(stack, declared)
        _check_layout(table.schema_arrow, file)
        batches = table.iter_batches(batch_size=bounded_rows(table.metadata, SETTINGS["storage"]["batch_rows"]), columns=columns)
        while True:
            try:
                batch = next(batches, None)
                found = [] if batch is None else batch.to_pylist()
            except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:
                raise _broken(file) from problem
            if batch is None:
                return
            for row in found:
                line += 1
                yield RawRow(line, _row_value(row), str(row))


def _row_value(row: dict[str, Any]) -> Any:
    try:
        return {name: json_value(value, name) for name, value in row.items()}
    except CellFault as fault:
        return fault


def _opened(stack: ExitStack, declared: Declared) -> pq.ParquetFile:
    if name_parts(declared.path.name).suffix != _SUFFIX:
        raise _broken(declared.file)
    source = stack.enter_context(seekable(declared.path, declared.file))
    try:
        table = stack.enter_context(pq.ParquetFile(source, pre_buffer=False))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:
        raise _broken(declared.file) from problem
    limit = unpacked_limit(declared.path.stat().st_size)
    if sum(table.metadata.row_group(group).total_byte_size for group in range(table.metadata.num_row_groups)) > limit:
        raise too_much(declared.file, limit)
    return table


def _check_layout(schema: pa.Schema, file: str) -> None:
    """Refuse another layout by name, older details with columns of Python literals among them."""
    kinds = {name: schema.field(name).type for name in _STRUCTS if name in schema.names}
    texts = [name for name, kind in kinds.items() if not pa.types.is_struct(kind)]
    if len(kinds) == len(_STRUCTS) and not texts:
        return
    if texts:
        got = f"{', '.join(texts)} of the type {kinds[texts[0]]}, as older releases of lighteval wrote them"
    else:
        got = f"the columns {', '.join(schema.names)}"
    raise RoundError(
        "not_lighteval_details", expected=f"structs {', '.join(_STRUCTS)}", got=got, where=Where(file),
        remedy="write the details with a current lighteval, or map the file yourself",
    )


def _broken(file: str) -> RoundError:
    return RoundError(
        "not_parquet", expected="a complete Parquet file", got="a file that cannot be read as Parquet", remedy="check that the file is whole",
        where=Where(file),
    )


def recognise(first_rows: Sequence[Any], path: Path) -> str | None:
    """A Parquet file with the structs doc, model_response and metric is lighteval's."""
    if name_parts(path.name)[1:] != (_SUFFIX, ""):
        return None
    try:
        names = pq.read_schema(path).names
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return None
    return f"its columns are {', '.join(_STRUCTS)}" if set(_STRUCTS) <= set(names) else None


FORMAT: Final = Format(
    NAME, PART, "lighteval: details_*.parquet", rows, recognise,
    {
        **OPTIONS, "metric": Option("the metric that decides; may be left out where rows have one"),
        "id": Option(f"where a row names its item, as doc.specific.key or sha256:doc.query; {_DOC_ID} unless declared"),
    },
)
