"""What may stand in the repository: the top level, the text of tracked files, and the dependencies."""
from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from core.canonical import parse_json

ROOT = Path(__file__).parents[2]
TOP_LEVEL = {
    "core", "dashboard", "pages", "data", "tests", "benchmarks", "docs", ".streamlit", ".ci", "pyproject.toml", "README.md", "LICENSE",
    "CONTRIBUTING.md", "iterative_rpo_flywheel.py", "constraints.txt", ".gitignore", ".gitattributes",
}
# written in halves, so that this file does not hold what it looks for
REGISTRIES = ["py" + "pi.org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com", "crates" + ".io", "conda" + ".anaconda"]
MACHINE_PATHS = re.compile(r"(?<![\w.~$}])/(?:wo" + r"rk|op" + r"t|ro" + r"ot|ho" + r"me|tm" + r"p)/\w")
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX|HA" + r"CK)\b")
BESIDE_US = re.compile(r"\.\./sha" + r"red")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def tracked() -> list[Path]:
    """Files under version control; in an unpacked archive, all files."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
        return [ROOT / name for name in listed.decode("utf-8").split("\0") if name and (ROOT / name).is_file()]
    return [path for path in ROOT.rglob("*") if path.is_file() and not {".venv", "__pycache__", "workspace"} & set(path.parts)]


FILES = tracked()
TEXTS = {path: data.decode("utf-8") for path in FILES if b"\0" not in (data := path.read_bytes()) and path.suffix not in (".png", ".gz", ".parquet")}


def found(pattern: re.Pattern[str], *, skip: tuple[str, ...] = ()) -> list[str]:
    """file:line of each match; ``skip``: folders that hold other people's text."""
    hits = []
    for path, text in TEXTS.items():
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(skip):
            hits += [f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()}" for match in pattern.finditer(text)]
    return hits


def test_the_top_level_holds_only_what_it_should() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in FILES} <= TOP_LEVEL


def test_the_files_that_a_reader_looks_for_are_there() -> None:
    for name in ("README.md", "LICENSE", "CONTRIBUTING.md", "constraints.txt", "docs/architecture.md", "docs/reference.md", ".ci/run"):
        assert (ROOT / name).is_file(), name
    assert "Apache License" in (ROOT / "LICENSE").read_text("utf-8")[:200]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_no_registry_is_named() -> None:
    assert found(re.compile("|".join(map(re.escape, REGISTRIES)))) == []


def test_no_path_of_one_machine_is_written_down() -> None:
    # model texts quoted in the data are not ours to change
    assert found(MACHINE_PATHS, skip=("data/bundles/", "data/rounds/", "data/sources/", "tests/fixtures/")) == []


def test_nothing_reads_what_a_fresh_clone_lacks() -> None:
    assert found(BESIDE_US, skip=("data/SOURCES.md",)) == []


def test_nothing_is_marked_unfinished() -> None:
    assert found(UNFINISHED, skip=("data/bundles/", "data/rounds/", "data/sources/", "tests/fixtures/")) == []


@pytest.mark.parametrize("path", sorted((ROOT / "core").rglob("*.json")), ids=lambda path: path.name)
def test_json_of_the_engine_is_strict(path: Path) -> None:
    # json.loads keeps the last of two equal keys; the engine's own files must not lean on that
    assert parse_json(path.read_bytes()) == json.loads(path.read_text("utf-8"))


def pins() -> dict[str, str]:
    lines = [line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9a-z.]+", line) for line in lines)
    return dict(line.split("==") for line in lines)


def requirements() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"]
    return [Requirement(text) for text in [*PROJECT["dependencies"], *extras["test"], *extras["dev"]]]


def test_every_dependency_has_a_lower_bound_and_a_pin_that_satisfies_it() -> None:
    pinned = pins()
    for requirement in requirements():
        assert any(part.operator == ">=" for part in requirement.specifier), requirement
        assert pinned[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_the_minor_of_streamlit_is_held() -> None:
    # it changes behaviour in minors
    (streamlit,) = (requirement for requirement in requirements() if requirement.name == "streamlit")
    assert {part.operator for part in streamlit.specifier} == {">=", "<"}


def test_the_distribution() -> None:
    assert (PROJECT["name"], PROJECT["requires-python"], PROJECT["scripts"]) == (
        "flywheel-countersign", ">=3.11", {"countersign": "core.cli.main:main"},
    )


def test_every_module_lies_in_a_package_and_is_shipped() -> None:
    for name in ("core", "dashboard", "pages"):
        for path in (ROOT / name).rglob("*.py"):
            assert (path.parent / "__init__.py").is_file(), path
