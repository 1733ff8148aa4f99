"""What surrounds the exporter: the clients' extra is pinned and has a way to run, and the reference names every shape."""
from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support_optional import MISSING, NEEDED, REASON

from core.export.shape import EXTRAS
from core.export.shapes import SHAPES
from core.export.turns import SPLITS

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs" / "reference.md").read_text("utf-8")
CLIENTS = [Requirement(text) for text in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]["clients"]]


def pins(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9a-z.]+", line) for line in lines)
    return dict(line.split("==") for line in lines)


def test_every_client_has_a_pin_of_its_own_that_satisfies_it() -> None:
    ours, theirs = pins(ROOT / "constraints.txt"), pins(ROOT / ".ci" / "clients-constraints.txt")
    assert set(ours).isdisjoint(theirs)
    for requirement in CLIENTS:
        assert any(part.operator == ">=" for part in requirement.specifier)
        assert theirs[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_the_clients_tests_have_a_way_to_run() -> None:
    script = ROOT / ".ci" / "clients"
    assert script.stat().st_mode & 0o111
    text = script.read_text("utf-8")
    assert "-c .ci/clients-constraints.txt" in text and '".[test,clients]"' in text and "pytest -q tests/clients" in text
    named = {"pyyaml": "yaml"}
    assert {named.get(requirement.name, requirement.name) for requirement in CLIENTS} == set(NEEDED)


def test_without_the_extra_a_run_over_the_clients_collects_nothing_and_says_why() -> None:
    # hide one of the packages from find_spec, so that this holds in an environment that has them as well
    code = (
        "import importlib.util, sys, pytest\n"
        "found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'trl' else found(name, *more)\n"
        "sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', 'tests/clients']))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 5, result.stdout + result.stderr  # pytest's code for: no tests were collected
    assert re.search(r"tests/clients not collected: no .*trl.* here\. \.ci/clients runs them", result.stdout), result.stdout
    assert ("not collected" in REASON) and (MISSING == [] or MISSING[0] in REASON)


def test_the_reference_has_every_format_split_and_column() -> None:
    missing = [name for name in (*SHAPES, *SPLITS, *EXTRAS) if f"`{name}`" not in REFERENCE]
    assert missing == []
