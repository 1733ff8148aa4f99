"""Shared by the browser tests that look at the demo: one demo workspace a module, started as the README says, and one browser."""
from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from support_browser import chromium, free_port, serving


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the demo workspace (``workspace``) and of its server's state (``home``)."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def address(place: Path) -> Iterator[str]:
    """Where the demo is served."""
    port = free_port()
    command = [sys.executable, "-m", "core.cli.main", "demo", "--no-browser", "--port", str(port), "--workspace", str(place / "workspace")]
    with serving(command, port, place / "home") as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running
