"""Small steps of ``.ci/run``: pinned (all that is installed is pinned), literals (the gate), test-command (the README's)."""
from __future__ import annotations

import re
import sys
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNPINNED = {"flywheel-countersign", "pip", "setuptools"}
"""The project itself, and what a new virtual environment brings along."""


def pinned() -> int:
    """Every installed distribution stands in constraints.txt with the version that is installed."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    wanted = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    installed = {_normal(item.metadata["Name"]): item.version for item in distributions()}
    wrong = {name: version for name, version in installed.items() if name not in UNPINNED and wanted.get(name) != version}
    for name, version in sorted(wrong.items()):
        print(f"{name} {version} is installed; constraints.txt says {wanted.get(name, 'nothing')}")
    return 1 if wrong else 0


def literals() -> int:
    """No number in core, dashboard and pages that the literal policy does not allow."""
    from core.literals import run_literal_gate

    result = run_literal_gate()
    for violation in result.violations:
        print(violation)
    print(f"{result.files} files, {len(result.violations)} violations, policy {result.policy_digest}")
    return 0 if result.passed else 1


def test_command() -> int:
    """Print the one command of the README that runs the tests."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    commands = [block.strip() for block in blocks if "-m pytest" in block]
    if len(commands) != 1 or "\n" in commands[0]:
        print(f"the README must have exactly one command of one line with '-m pytest'; it has {commands}", file=sys.stderr)
        return 1
    print(commands[0])
    return 0


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit({"pinned": pinned, "literals": literals, "test-command": test_command}[sys.argv[1]]())
