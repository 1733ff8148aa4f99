"""The one in-memory DuckDB behind a round's pages: locked down, read through a cursor a query, over Parquet only.

Rules (specification: signing 7, stack "Storage"):

- The order matters: extensions off, replacements off, the round's own files allowed, limits, then external access off,
  then the configuration locked. The other order fails.
- A file is allowed by name. The name must be a plain file: a bound name would still expand globs.
- One cursor for each query, everything fetched, closed. A connection shared by threads gives wrong rows, silently.
- SQL lives in ``sql/*.sql``; every value is a bound parameter.
"""
from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from core.errors import RoundError, Where
from core.settings import SETTINGS

SQL_FOLDER: Final = Path(__file__).parent / "sql"
_GLOB: Final = frozenset("*?[")
_OFF: Final = ("autoload_known_extensions", "autoinstall_known_extensions", "allow_community_extensions", "python_enable_replacements")


@cache
def sql_text(name: str) -> str:
    """The text of ``sql/<name>.sql``."""
    return (SQL_FOLDER / f"{name}.sql").read_text("utf-8")


def checked_file(path: Path) -> Path:
    """``path`` when it is one plain file that no pattern can widen. RoundError otherwise."""
    if _GLOB & set(str(path)):
        raise RoundError(
            "part_unreadable", expected="a file name without *, ? and [", got=repr(path.name),
            remedy="move the workspace to a folder whose path has none of these characters", where=Where(file=path.name),
        )
    if not path.is_file():
        raise RoundError(
            "part_unreadable", expected="a file of the round", got="no such file",
            remedy="check the round with `countersign round check`, or ingest it again", where=Where(file=path.name),
        )
    return path


class LockedDatabase:
    """In-memory DuckDB over the given Parquet files, one view a part; a part without a file is an empty table.

    Parameters: ``parts`` maps a view name to (file or None, schema of the part). Raises RoundError for a file that is
    missing, is no Parquet, or lacks a column of its schema. Close it, or let it be collected: both remove its folder
    for spilled data.
    """

    def __init__(self, parts: Mapping[str, tuple[Path | None, pa.Schema]]) -> None:
        files = {name: checked_file(path) for name, (path, _) in parts.items() if path is not None}
        spill = tempfile.mkdtemp(prefix="countersign-duckdb-")
        self._spill = weakref.finalize(self, shutil.rmtree, spill, ignore_errors=True)
        self._preparing, self._prepared = threading.Lock(), set[str]()
        self._root = duckdb.connect(":memory:")
        try:
            self._configure(files, spill)
            for name, (_, schema) in parts.items():
                self._add_part(name, files.get(name), schema)
            self._root.execute(sql_text("views"))
            self._lock()
        except BaseException:
            self.close()
            raise

    def _configure(self, files: Mapping[str, Path], spill: str) -> None:
        limits = SETTINGS["duckdb"]
        # global: some settings belong to a connection, and a cursor would start from the default again
        for name in _OFF:
            self._root.execute(f"set global {name} = false")
        self._root.execute("set global allowed_paths = $paths", {"paths": [str(path) for path in files.values()]})
        self._root.execute("set global memory_limit = $limit", {"limit": limits["memory_limit"]})
        self._root.execute("set global threads = $threads", {"threads": limits["threads"]})
        self._root.execute("set global temp_directory = $folder", {"folder": spill})
        self._root.execute("set global max_temp_directory_size = $size", {"size": limits["max_temp_directory_size"]})
        self._root.execute("set global max_execution_time = $time", {"time": limits["max_execution_time_ms"]})

    def _add_part(self, name: str, path: Path | None, schema: pa.Schema) -> None:
        if path is None:
            self._root.from_arrow(schema.empty_table()).create(name)
            return
        try:
            rows = self._root.read_parquet(str(path))
        except duckdb.Error as problem:
            raise _unreadable(path, "a Parquet file", "something DuckDB cannot open as Parquet") from problem
        missing = [column for column in schema.names if column not in rows.columns]
        if missing:
            raise _unreadable(path, f"the columns of {name}", f"no column {', '.join(missing)}")
        rows.create_view(name)

    def _lock(self) -> None:
        self._root.execute("set global enable_external_access = false")
        self._root.execute("set global lock_configuration = true")

    def table(self, name: str, **parameters: Any) -> pa.Table:
        """All rows of ``sql/<name>.sql`` under bound parameters, through a cursor of its own. RoundError when it fails."""
        with _failures(name), self._root.cursor() as cursor:
            return cursor.sql(sql_text(name), params=parameters or None).to_arrow_table()

    def prepare(self, name: str) -> None:
        """Run ``sql/<name>.sql``, which makes a table in memory for other queries, the first time it is asked for."""
        with self._preparing:
            if name in self._prepared:
                return
            with _failures(name), self._root.cursor() as cursor:
                cursor.execute(sql_text(name))
            self._prepared.add(name)

    def close(self) -> None:
        """Close the database and remove its folder. Safe to call twice."""
        self._root.close()
        self._spill()


@contextmanager
def _failures(name: str) -> Iterator[None]:
    """DuckDB's errors as errors somebody can act on."""
    try:
        yield
    except duckdb.InterruptException as problem:
        raise RoundError(
            "query_time_limit", expected=f"an answer within {SETTINGS['duckdb']['max_execution_time_ms']} ms", got=f"none from {name}",
            remedy="narrow the view by state, reason or judge before searching in texts",
        ) from problem
    except duckdb.Error as problem:
        raise RoundError(
            "query_failed", expected=f"rows from {name}", got=f"{type(problem).__name__}: {problem}",
            remedy="check the round with `countersign round check`; the dashboard reads only what it lists",
        ) from problem


def _unreadable(path: Path, expected: str, got: str) -> RoundError:
    return RoundError(
        "part_unreadable", expected=expected, got=got,
        remedy="check the round with `countersign round check`, or ingest it again", where=Where(file=path.name),
    )
