"""Shared by all tests: helper modules of this folder can be imported, and Hypothesis is reproducible.

``--hypothesis-profile=search`` looks at new random inputs instead, for as long as somebody wants to wait.
"""
from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

# no deadline: two shared cores make single examples slow now and then
settings.register_profile("repeatable", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Bytes are named by what they are, not by what they hold: two workers that pack a file a second apart would collect different tests."""
    return argname if isinstance(val, bytes) else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """A run over everything says what it did not collect, and why."""
    from support_optional import MISSING, REASON

    everything = any((config.invocation_params.dir / name).resolve() in (HERE, HERE.parent, HERE / "clients") for name in config.args)
    if MISSING and everything:
        terminalreporter.write_line(REASON)


@pytest.fixture(autouse=True)
def _own_main_module() -> Iterator[None]:
    """AppTest leaves the page's script as ``__main__``; a process that a later test spawns would run it again."""
    before = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = before
