"""The database behind the pages: locked down, safe for many threads, and fed from named SQL files only."""
from __future__ import annotations

import ast
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest
from support_scored import write_scored, write_texts

from core.errors import RoundError
from core.rounds import query_database
from core.rounds.queries import PairFilter, RoundQueries
from core.rounds.query_database import SQL_FOLDER, LockedDatabase, checked_file
from core.schemas import REASONS, SCORED, TEXT

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(path for folder in ("core", "dashboard", "pages") for path in (ROOT / folder).rglob("*.py"))
BOUNDS = {"margin": 0.0, "ratio": 1.8, "drift": -0.1, "loss": None}


def probe(monkeypatch: pytest.MonkeyPatch, database: LockedDatabase, statement: str) -> object:
    monkeypatch.setattr(query_database, "sql_text", lambda name: statement)
    return database.table("probe")


@pytest.fixture
def database(tmp_path: Path):
    found = LockedDatabase({"scored": (write_scored(tmp_path, [{}]), SCORED), "texts": (None, TEXT), "quarantine": (None, SCORED)})
    yield found
    found.close()


@pytest.mark.parametrize(
    "statement",
    [
        "select * from read_parquet('{folder}/other.parquet')", "select * from '{folder}/other.parquet'", "copy (select 1) to '{folder}/new.csv'",
        "select * from read_text('/etc/hostname')", "set threads = 1", "set enable_external_access = true", "install httpfs", "load httpfs",
        "attach '{folder}/new.db'", "export database '{folder}/out'", "select * from glob('{folder}/*')",
    ],
)
def test_nothing_but_the_rounds_own_files_can_be_reached(database, tmp_path: Path, monkeypatch, statement: str) -> None:
    write_texts(tmp_path, [("p", "c", "r")]).rename(tmp_path / "other.parquet")
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(RoundError):
        probe(monkeypatch, database, statement.format(folder=tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_python_variables_are_not_tables(database, monkeypatch) -> None:
    secret = duckdb.sql("select 1 as a").to_arrow_table()  # noqa: F841  (the statement below must not find it)
    with pytest.raises(RoundError):
        probe(monkeypatch, database, "select * from secret")


def test_settings_are_locked_and_limited(database, monkeypatch) -> None:
    rows = probe(monkeypatch, database, "select name, value from duckdb_settings()").to_pylist()
    values = {row["name"]: row["value"] for row in rows}
    assert values["enable_external_access"] == "false" and values["lock_configuration"] == "true"
    for name in ("autoload_known_extensions", "autoinstall_known_extensions", "allow_community_extensions", "python_enable_replacements"):
        assert values[name] == "false"
    assert values["threads"] == "2" and values["max_execution_time"] == "60000"


@pytest.mark.parametrize("name", ["sc*red.parquet", "scored?.parquet", "[s]cored.parquet"])
def test_a_name_that_would_be_a_pattern_is_refused(tmp_path: Path, name: str) -> None:
    write_scored(tmp_path, [{}])
    with pytest.raises(RoundError, match="part_unreadable"):
        checked_file(tmp_path / name)


def test_a_missing_file_a_folder_and_a_broken_file_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(RoundError, match=r"scored\.parquet.*no such file"):
        RoundQueries(scored_path=tmp_path / "scored.parquet")
    with pytest.raises(RoundError, match="part_unreadable"):
        RoundQueries(scored_path=tmp_path)
    (tmp_path / "scored.parquet").write_bytes(b"PAR1 this is not Parquet")
    with pytest.raises(RoundError, match=r"scored\.parquet.*a Parquet file"):
        RoundQueries(scored_path=tmp_path / "scored.parquet")


def test_a_file_of_another_part_is_refused_naming_the_missing_columns(tmp_path: Path) -> None:
    with pytest.raises(RoundError, match=r"no column pair_id, origin, state"):
        RoundQueries(scored_path=write_texts(tmp_path, [("p", "c", "r")]))


def test_a_path_with_a_quote_is_a_path(tmp_path: Path) -> None:
    folder = tmp_path / "it's; drop"
    folder.mkdir()
    with RoundQueries(scored_path=write_scored(folder, [{}, {}])) as queries:
        assert queries.state_counts().admitted == 2


def test_the_folder_for_spilled_data_goes_with_the_database(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    queries = RoundQueries()
    assert len(list(tmp_path.iterdir())) == 1
    queries.close()
    queries.close()
    assert list(tmp_path.iterdir()) == []


def test_two_sessions_with_different_filters_get_the_rows_of_a_serial_run(tmp_path: Path) -> None:
    rows = [{"pair_id": f"p{n:04d}", "drift": n / 1000, "reasons": [REASONS[n % 6]] if n % 7 else []} for n in range(900)]
    filters = [PairFilter(state="rejected", reason=REASONS[n % 6]) if n % 7 else PairFilter(state="admitted") for n in range(40)]
    texts = write_texts(tmp_path, [(f"prompt {n}", "c", "r") for n in range(900)])
    with RoundQueries(scored_path=write_scored(tmp_path, rows), text_path=texts) as queries:
        plans = queries.bin_plans(BOUNDS)

        def answer(number: int) -> object:
            page = queries.pair_page(filters[number], plans, sort="drift-high").to_pylist()
            text = queries.pair_text(page[0]["ordinal"])
            return page, text, queries.histograms(plans).to_pylist(), queries.reason_counts().to_pylist()

        serial = [answer(number) for number in range(len(filters))]
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(answer, range(len(filters))))
    assert together == serial


def test_another_process_reads_the_same_files_at_the_same_time(tmp_path: Path) -> None:
    path = write_scored(tmp_path, [{}, {}])
    script = (
        "import sys, pathlib; from core.rounds.queries import RoundQueries; "
        "print(RoundQueries(scored_path=pathlib.Path(sys.argv[1])).state_counts().admitted)"
    )
    with RoundQueries(scored_path=path) as queries:
        other = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True, cwd=ROOT)
        assert (other.stdout.strip(), queries.state_counts().admitted) == ("2", 2)


# the rules that no single query shows

def calls_of_duckdb(tree: ast.AST) -> list[str]:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    return [node.attr for node in found if node.value.id == "duckdb"]


def default_connection_uses(source: str) -> list[str]:
    """Uses of duckdb's module-level functions, which share one default connection, and names imported from the module."""
    tree = ast.parse(source)
    allowed = {"connect", "Error", "InterruptException", "DuckDBPyConnection"}
    imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "duckdb" for alias in node.names]
    return [name for name in calls_of_duckdb(tree) + imported if name not in allowed]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_default_connection_is_never_used(source: Path) -> None:
    assert default_connection_uses(source.read_text("utf-8")) == []


@pytest.mark.parametrize("statement", ["import duckdb\nduckdb.sql('select 1')", "import duckdb\nduckdb.execute('x')", "from duckdb import sql"])
def test_the_lint_sees_the_default_connection(statement: str) -> None:
    assert default_connection_uses(statement)


def test_one_module_talks_to_duckdb() -> None:
    users = [path.relative_to(ROOT).as_posix() for path in SOURCES if re.search(r"^\s*(import|from) duckdb", path.read_text("utf-8"), re.MULTILINE)]
    assert "core/rounds/query_database.py" in users
    assert all(name.startswith("core/rounds/") for name in users)


SQL_FILES = sorted(SQL_FOLDER.glob("*.sql"))
QUERIES = [path for path in SQL_FILES if path.stem != "views"]


@pytest.mark.parametrize("path", SQL_FILES, ids=lambda path: path.stem)
def test_each_sql_file_says_its_purpose_grain_parameters_and_columns(path: Path) -> None:
    text = path.read_text("utf-8")
    header = [line for line in text.splitlines() if line.startswith("--")]
    for part in ("purpose", "grain", "parameters", "columns"):
        assert any(line.startswith(f"-- {part}: ") for line in header), part
    body = "\n".join(line.partition("--")[0] for line in text.splitlines())
    outside_strings = re.sub(r"'[^']*'", "", body)
    assert outside_strings == outside_strings.lower()


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_each_parameter_of_a_query_is_in_its_header(path: Path) -> None:
    header, body = [], []
    for line in path.read_text("utf-8").splitlines():
        (header if line.startswith("--") else body).append(line)
    used, said = (set(re.findall(r"\$([a-z_]+)", "\n".join(part))) for part in (header, body))
    if "as in histograms.sql" in "\n".join(header):
        used |= set(re.findall(r"\$([a-z_]+)", (SQL_FOLDER / "histograms.sql").read_text("utf-8")))
    assert said <= used


def test_each_sql_file_is_used_and_no_statement_stands_in_python() -> None:
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "core" / "rounds").glob("quer*.py"))
    for path in SQL_FILES:
        assert f'"{path.stem}"' in source, path.stem
    assert not re.search(r"[\"'](select|with|insert|update|delete) ", source, re.IGNORECASE)
