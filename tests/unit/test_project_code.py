"""How the code is cut: import directions, sizes, and calls that must not be made."""
from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(path for name in ("core", "dashboard", "pages") for path in (ROOT / name).rglob("*.py"))
CORE = [path for path in MODULES if path.relative_to(ROOT).parts[0] == "core"]
FORBIDDEN_IN_CORE = ("streamlit", "plotly", "dashboard", "pages")
MOST_LINES, MOST_LINES_OF_A_FUNCTION = 450, 70
OWN_CONNECTION_ONLY = {"sql", "query", "execute", "executemany", "read_parquet", "read_csv", "read_json", "default_connection", "table"}
"""Functions of the duckdb module that use the process's shared connection."""


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def test_core_runs_without_a_user_interface() -> None:
    """Every core module, imported in a fresh interpreter, leaves none of the forbidden packages behind."""
    names = [*map(module_name, CORE), "iterative_rpo_flywheel"]
    code = (
        "import importlib, sys\n"
        f"for name in {names!r}:\n"
        "    importlib.import_module(name)\n"
        f"    seen = [bad for bad in {FORBIDDEN_IN_CORE!r} if bad in sys.modules]\n"
        "    assert not seen, (name, seen)\n"
        "print(len(sys.modules))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > len(names)


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_modules_and_functions_stay_readable(path: Path) -> None:
    assert path.read_text("utf-8").count("\n") <= MOST_LINES
    for node in ast.walk(tree_of(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert (node.end_lineno or node.lineno) - node.lineno + 1 <= MOST_LINES_OF_A_FUNCTION, f"{node.name}, line {node.lineno}"


def calls(path: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call))


def test_the_shared_connection_of_duckdb_is_never_used() -> None:
    """One connection shared by threads gave wrong rows in silence: each query takes a cursor of a connection of its own."""
    found = [
        f"{path.relative_to(ROOT)}:{call.lineno}" for path in MODULES for call in calls(path)
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id == "duckdb"
        and call.func.attr in OWN_CONNECTION_ONLY
    ]
    assert found == []


def is_put_together(statement: ast.expr) -> bool:
    """An f-string, ``%`` or ``.format``. A setting is named by an identifier, which cannot be bound: those are let through."""
    if isinstance(statement, ast.JoinedStr):
        first = statement.values[0] if statement.values else None
        return not (isinstance(first, ast.Constant) and str(first.value).startswith("set global "))
    if isinstance(statement, ast.BinOp):
        return isinstance(statement.op, (ast.Mod, ast.Add))
    return isinstance(statement, ast.Call) and isinstance(statement.func, ast.Attribute) and statement.func.attr == "format"


def test_sql_is_never_put_together_from_values() -> None:
    """Statements stand in files, values are bound."""
    found = [
        f"{path.relative_to(ROOT)}:{call.lineno}" for path in MODULES for call in calls(path)
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("execute", "sql", "executemany")
        and call.args and is_put_together(call.args[0])
    ]
    assert found == []


def test_the_engine_raises_no_bare_value_error_from_its_commands() -> None:
    """What a command raises on purpose is one of the errors of core/errors.py, so that it has an exit code and a remedy."""
    found = []
    for path in CORE:
        if "cli" not in path.parts:
            continue
        raised = [node.exc for node in ast.walk(tree_of(path)) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
        names = {call.func.id: call.lineno for call in raised if isinstance(call.func, ast.Name)}
        bare = set(names) & {"ValueError", "RuntimeError", "Exception", "KeyError", "TypeError"}
        found += [f"{path.relative_to(ROOT)}:{names[name]}" for name in bare]
    assert found == []
