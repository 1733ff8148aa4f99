"""Documentation kept true: the README's commands run, and the reference page names what the code has."""
from __future__ import annotations

import doctest
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from core.cli.main import build
from core.errors import EXIT
from core.gates.receipt import RECEIPT_FIELDS
from core.grid import default_grid
from core.rounds.columns import PART_COLUMNS
from core.rounds.manifest import RoundManifest
from core.rounds.readers.containers import SUFFIXES
from core.rounds.readers.contents import CODECS
from core.rounds.readers.formats import FORMATS
from core.schemas import DUPLICATE_COLUMNS, INVALID_CODES, REASONS
from core.settings import SETTINGS
from core.signing import statement

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
REFERENCE = (ROOT / "docs" / "reference.md").read_text("utf-8")
PAGES_OF_DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
SHARED = {"--workspace", "--json", "--help"}


def commands() -> dict[str, list[str]]:
    """Every command of the command line with its options, from the program itself."""
    found: dict[str, list[str]] = {}

    def walk(command: typer.core.TyperCommand, path: str) -> None:
        inner = getattr(command, "commands", None)
        if inner is None:
            found[path] = [flag for option in command.params if option.param_type_name == "option" for flag in (*option.opts, *option.secondary_opts)]
        else:
            for name, child in inner.items():
                walk(child, f"{path} {name}")

    walk(typer.main.get_command(build()), "countersign")
    return found


COMMANDS = commands()


def section(title: str, level: int = 2) -> str:
    """The text under a heading of the reference page, up to the next one of its level."""
    marks = "#" * level
    match = re.search(rf"^{marks} {re.escape(title)}\n(.*?)(?=^#{{1,{level}}} |\Z)", REFERENCE, re.MULTILINE | re.DOTALL)
    assert match is not None, f"docs/reference.md has no section {title!r}"
    return match.group(1)


def lacking(names: Iterator[str] | list[str] | tuple[str, ...], text: str) -> list[str]:
    return [name for name in names if f"`{name}`" not in text]


# README


def test_the_readme_opens_with_a_picture_that_is_there() -> None:
    first = README.split("\n\n")[1]
    match = re.fullmatch(r"!\[[^\]]{20,}\]\((docs/pictures/[a-z0-9-]+\.png)\)", first)
    assert match is not None, first
    assert (ROOT / match.group(1)).read_bytes().startswith(b"\x89PNG")


def test_two_commands_do_all_the_set_up() -> None:
    # Debian's Python refuses pip outside a virtual environment, so both lines make one
    demo, tests = (block.strip() for block in BLOCKS[:2])
    assert demo == "python3 -m venv .venv && .venv/bin/pip install -q -c constraints.txt -e . && .venv/bin/countersign demo"
    prefix = 'python3 -m venv .venv && .venv/bin/pip install -q -c constraints.txt -e ".[test]" && .venv/bin/python -m pytest'
    assert tests.startswith(prefix) and "\n" not in tests
    assert "demo" in {name.split()[1] for name in COMMANDS}


def test_the_gate_runs_the_readmes_own_test_command() -> None:
    printed = subprocess.run([sys.executable, ROOT / ".ci" / "checks.py", "test-command"], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == BLOCKS[1].strip()
    assert "checks.py test-command" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_the_readme_names_every_command_and_no_other() -> None:
    assert lacking(list(COMMANDS), README) == []
    assert set(re.findall(r"`(countersign [a-z ]+?)`", README)) <= set(COMMANDS)


def test_the_commands_of_the_readme_run_from_keys_to_a_verified_receipt(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "data" / "rounds" / "worked-example", tmp_path / "data" / "rounds" / "worked-example")
    (tmp_path / "home").mkdir()
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path / "home"), "LANG": "C.UTF-8",
    }
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", BLOCKS[2]], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.rstrip().splitlines()[-1] == "APPROVED"
    assert (tmp_path / "decision.zip").is_file()
    assert len(BLOCKS) == 3


def test_the_one_file_command_of_the_readme_prints_the_known_receipt() -> None:
    command = "python -m iterative_rpo_flywheel --bundle data/bundles/worked-example.json"
    assert f"`{command}`" in README
    result = subprocess.run([sys.executable, *command.split()[1:]], cwd=ROOT, capture_output=True, check=True)
    assert json.loads(result.stdout) == json.loads((ROOT / "tests" / "fixtures" / "worked_example" / "receipt.json").read_text("utf-8"))


# reference page


def test_the_reference_has_each_command_and_no_other() -> None:
    assert set(re.findall(r"^### (countersign [a-z ]+)$", REFERENCE, re.MULTILINE)) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_reference_has_each_option(command: str) -> None:
    text = section(command, level=3)
    known = set(COMMANDS[command])
    named = set(re.findall(r"`(--[a-z-]+)", text))
    assert named - known == set()
    assert known - named - {"--help"} == set()


def test_the_reference_has_each_exit_code() -> None:
    text = section("Exit codes")
    assert [code for code in (*EXIT.values(), *SETTINGS["cli"].values()) if f"| {code} |" not in text] == []


def test_the_reference_has_each_variable_of_the_environment() -> None:
    sources = [path.read_text("utf-8") for name in ("core", "dashboard") for path in (ROOT / name).rglob("*.py")]
    used = {name for text in sources for name in re.findall(r"\"(COUNTERSIGN_[A-Z_]+)\"", text)}
    assert used >= {"COUNTERSIGN_WORKSPACE"}
    assert lacking(sorted(used), section("Environment")) == []


def test_the_reference_has_each_grid_key_with_its_value_unit_and_bounds() -> None:
    text = section("Grid")
    for key in default_grid().keys.values():
        row = next((line for line in text.splitlines() if line.startswith(f"| `{key.name}` |")), "")
        value = "all three" if key.name == "enforced_dedup_keys" else default_grid().text(key.name)
        assert f"| {value} | {key.unit} |" in row, key.name
        assert all(str(bound) in row for bound in key.bounds), key.name


def test_the_reference_has_each_reason_and_sub_code() -> None:
    text = section("Reasons: why a pair is not admitted")
    rows = re.findall(r"^\| `([a-z_]+)` \|", text, re.MULTILINE)
    assert rows == [*REASONS, *INVALID_CODES] or set(rows) == {*REASONS, *INVALID_CODES}
    assert rows[:len(REASONS)] == list(REASONS)
    assert lacking(list(DUPLICATE_COLUMNS), text) == []


def test_the_reference_has_each_check_and_refusal_code(tmp_path: Path) -> None:
    # the names that the engine writes: judge checks, round checks, and reasons of a refusal record
    written = "".join((ROOT / "core" / "gates" / f"{name}.py").read_text("utf-8") for name in ("calibration", "promotion", "assessment", "holdout"))
    checks = set(re.findall(r"(?:rate_check|value_check|fact_check|Check)\(\s*\"([a-z_]+)\"", written))
    assert {"holdout_lock", "distinct_reviewer", "cohens_kappa"} <= checks
    assert lacking(sorted(checks), section("Checks")) == []
    codes = set(re.findall(r"reasons(?:\.append\(| \+= \[\s*)\(\"([a-z_]+)\"", written)) | set(re.findall(r"_fault\(\"([a-z_]+)\"", written))
    assert {"incomplete_round", "unknown_item"} <= codes
    assert lacking(sorted(codes), section("Refusal records")) == []


def test_the_reference_has_each_field_of_the_receipt() -> None:
    assert lacking(RECEIPT_FIELDS, section("Receipt")) == []


def test_the_reference_has_each_column_of_each_part() -> None:
    text = section("Input")
    for part, columns in PART_COLUMNS.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{part}` |"))
        assert lacking([column.name for column in columns], row) == []
    stored = RoundManifest("r", "tables", ("a",), "2026-01-05T12:00:00Z").document()
    assert lacking([name for name in stored if name not in ("form", "parts", "files")], text) == []


def test_the_reference_has_each_format_with_its_part_and_options() -> None:
    text = section("Formats")
    rows = {line.split("`")[1]: line for line in text.splitlines() if re.match(r"\| `[^`]+` \| `[a-z_]+` \|", line)}
    assert list(rows) == list(FORMATS)
    for name, item in FORMATS.items():
        assert rows[name].startswith(f"| `{name}` | `{item.part}` |")
        assert [option for option in item.options if f"`{option}" not in text] == [], name
        # an option of this format alone stands in its own row
        others = [other.options for other in FORMATS.values() if other.part == item.part and other.name != name]
        own = [option for option in item.options if others and not any(option in options for options in others)]
        assert [option for option in own if f"`{option}" not in rows[name]] == [], name


def test_the_reference_has_each_form_that_rows_come_in() -> None:
    text = section("Formats") + section("Input")
    assert [suffix for suffix in (*SUFFIXES, *CODECS) if f"`{suffix}`" not in text] == []


def test_the_reference_has_each_page() -> None:
    from dashboard.navigation import PAGES

    text = section("Pages")
    assert re.findall(r"^\| \*\*(.+?)\*\* \|", text, re.MULTILINE) == [page.title for page in PAGES]


def test_the_reference_has_each_predicate_type_and_field() -> None:
    text = section("Statements")
    assert [name for name in statement.PREDICATE_TYPES if f"`{name}`" not in text] == []
    # the schema functions know their own fields: a record that lacks all of them names each one in turn
    for kind, check in statement._PREDICATES.items():
        assert lacking(fields_of(check), text) == [], kind


def fields_of(check: object) -> list[str]:
    """The field names of a record schema, from the closure that checks them."""
    cells = getattr(check, "__closure__", None) or ()
    (fields,) = (cell.cell_contents for cell in cells if isinstance(cell.cell_contents, dict))
    assert fields
    return list(fields)


def test_the_reference_has_each_section_of_the_settings() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \| .{5,} \|$", section("Settings"), re.MULTILINE)
    assert [name for name in SETTINGS if name not in rows] == []


# all pages


@pytest.mark.parametrize("page", PAGES_OF_DOCS, ids=lambda path: path.name)
def test_links_inside_the_documentation_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\((?!https?://)([^)#\s]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target
    anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= anchors


def test_files_that_the_documentation_names_exist() -> None:
    named = re.compile(r"`((?:core|dashboard|pages|data|tests|docs|benchmarks|\.ci)/[\w./-]+\.(?:py|json|md|sql|toml))`")
    missing = [f"{page.name}: {path}" for page in PAGES_OF_DOCS for path in named.findall(page.read_text("utf-8")) if not (ROOT / path).exists()]
    assert missing == []


def test_decisions_are_numbered_without_gaps() -> None:
    names = [path.name for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    numbers = [int(name[:3]) for name in names]
    assert all(name[3] == "-" for name in names) and numbers == list(range(1, len(names) + 1))
    for name in names:
        text = (ROOT / "docs" / "decisions" / name).read_text("utf-8")
        assert text.startswith(f"# {name[:3]}: ") and text.count("\n") < 60


DOCTESTED = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sorted((ROOT / "core").rglob("*.py")) if ">>> " in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", DOCTESTED)
def test_examples_in_docstrings_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0 and result.failed == 0
