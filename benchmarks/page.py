"""The Curation page of a round in a real Chromium: first render, refresh after a brush, reload, and bytes over the WebSocket.

    python benchmarks/page.py WORKSPACE ROUND_ID
"""
from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support_browser import PATIENCE_MS, Tab, chromium, free_port, serving  # noqa: E402

BRUSHED = ("margin", "drift", "loss")
PLOTS = ".js-plotly-plot .barlayer"
IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"


class Traffic:
    """Bytes of the frames that the page received over WebSockets, before any compression on the wire."""

    def __init__(self, page: Page) -> None:
        self.received = 0
        page.on("websocket", lambda socket: socket.on("framereceived", self._count))

    def _count(self, payload: str | bytes) -> None:
        self.received += len(payload.encode() if isinstance(payload, str) else payload)

    def since(self, before: int) -> int:
        return self.received - before


def drawn(tab: Tab, charts: int) -> None:
    """Wait until the page's script is over and all charts have bars."""
    expect(tab.page.locator(IDLE)).to_be_attached(timeout=PATIENCE_MS)
    tab.settle()
    expect(tab.page.locator(PLOTS)).to_have_count(charts, timeout=PATIENCE_MS)


@contextmanager
def timed(found: dict[str, Any], name: str, traffic: Traffic) -> Iterator[None]:
    start, before = time.perf_counter(), traffic.received
    yield
    found[f"{name}_s"] = time.perf_counter() - start
    found[f"{name}_bytes"] = traffic.since(before)


def brush(tab: Tab, measure: str) -> None:
    """Drag over the middle of a chart, and wait until its chip is there."""
    chart = f"[class*=st-key-brush-{measure}]"
    tab.page.locator(chart).scroll_into_view_if_needed()
    box = tab.page.locator(f"{chart} .nsewdrag").first.bounding_box()
    assert box is not None
    row = box["y"] + box["height"] / 2
    tab.page.mouse.move(box["x"] + box["width"] * 0.3, row)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + box["width"] * 0.8, row, steps=4)
    tab.page.mouse.up()
    tab.page.wait_for_url(re.compile(rf"[?&]{measure}="))


def measure(workspace: Path, round_id: str, home: Path, charts: int = 5) -> dict[str, Any]:
    """Start the dashboard over ``workspace`` and measure one reviewer's visit to the Curation page; the refresh is the median
    of three brushes, the hand's movement included."""
    port, found = free_port(), {}
    command = [sys.executable, "-m", "core.cli.main", "serve", "--no-browser", "--port", str(port), "--workspace", str(workspace)]
    with serving(command, port, home) as address, chromium() as browser:
        tab = Tab.open(browser, address)
        traffic = Traffic(tab.page)
        tab.go("")
        start = f"curation?round={round_id}"
        with timed(found, "first_render", traffic):
            tab.page.goto(f"{address}/{start}")
            drawn(tab, charts)
        steps: list[dict[str, Any]] = [{} for _ in BRUSHED]
        for step, chart in zip(steps, BRUSHED, strict=True):
            with timed(step, "refresh", traffic):
                brush(tab, chart)
                drawn(tab, charts)
        found |= sorted(steps, key=lambda step: step["refresh_s"])[len(steps) // 2]
        with timed(found, "reload", traffic):
            tab.page.reload()
            drawn(tab, charts)
        found["received_bytes"] = traffic.received
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("workspace", type=Path)
    parser.add_argument("round_id")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        print(json.dumps(measure(arguments.workspace, arguments.round_id, Path(home)), indent=1))


if __name__ == "__main__":
    main()
