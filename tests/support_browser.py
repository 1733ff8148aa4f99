"""A real Chromium over a real server: starting both, waiting for what is on the screen, and what the browser complained about."""
from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode, urlparse

from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
)
CLIPPED = """() => {
  const scrolls = (e) => /auto|scroll|hidden|clip/.test(getComputedStyle(e).overflowX)
  const inside = (e) => e.closest('[data-testid=stHeader], svg, input, textarea')
  const name = (e) => {
    const keyed = e.closest('[class*=st-key-]')
    return `${e.tagName.toLowerCase()} of ${keyed ? [...keyed.classList].find((one) => one.startsWith('st-key-')) : 'the page'}`
  }
  const said = (e, wide, room) => `${name(e)}: ${Math.round(wide)} px in ${Math.round(room)}: ${e.textContent.trim().slice(0, 50)}`
  const boxes = [...document.querySelectorAll('body *')].filter((e) => e.clientWidth > 1 && !inside(e) && scrolls(e))
  const cut = boxes.filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => said(e, e.scrollWidth, e.clientWidth))
  const spilt = [...document.querySelectorAll('.cs-sheet')].flatMap((sheet) => {
    const edge = sheet.getBoundingClientRect()
    const beyond = (e) => e.getBoundingClientRect().right > edge.right + 1
    const out = [...sheet.querySelectorAll('*')].find((e) => !inside(e) && !e.closest('.cs-pre, .cs-prose') && beyond(e))
    return out && sheet.clientWidth ? [said(out, out.getBoundingClientRect().right - edge.left, edge.width)] : []
  })
  return [...cut, ...spilt, ...(document.documentElement.scrollWidth > window.innerWidth ? ['the page itself'] : [])]
}"""
"""What is wider than the room it has: content of a box that would have to be scrolled sideways or is cut, and parts of a sheet
that reach beyond it. Inputs scroll by themselves; in a text as written only the blank at the end of a line hangs out."""
PATIENCE_MS = 30_000
BUSY = "[data-testid=stStatusWidget], [data-testid=stSkeleton], [data-testid=stAppSkeleton]"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(command: Sequence[str], port: int, home: Path, patience: float = 90, **environment: str) -> Iterator[str]:
    """Run a server from the repository until the block ends; the address, once it answers. ``home``: where it may keep state."""
    home.mkdir(parents=True, exist_ok=True)
    log = home / "server.log"
    variables = {**os.environ, "XDG_STATE_HOME": str(home), "PYTHONUNBUFFERED": "1", **environment}
    with log.open("wb") as out, subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, env=variables) as server:
        try:
            end = time.monotonic() + patience
            while not healthy(port):
                assert server.poll() is None and time.monotonic() < end, log.read_text("utf-8", "replace")
                time.sleep(0.1)
            yield f"http://localhost:{port}"
        finally:
            server.terminate()
            try:
                server.wait(15)
            except subprocess.TimeoutExpired:
                server.kill()


def healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=1) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium; a missing one is an error with its remedy, not a skipped test."""
    found = shutil.which("chromium")
    assert found is not None, "no chromium on PATH: apt-get install chromium"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Tab:
    """A page, with everything it complained about and every host it spoke to."""

    page: Page
    address: str
    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, browser: Browser, address: str) -> Tab:
        tab = cls(browser.new_page(viewport={"width": 1440, "height": 900}), address)
        tab.page.set_default_timeout(PATIENCE_MS)
        tab.page.on("console", tab._heard)
        tab.page.on("pageerror", lambda error: tab.complaints.append(str(error)))
        tab.page.on("request", lambda request: tab.foreign.append(request.url) if tab.is_foreign(request.url) else None)
        return tab

    def _heard(self, message: ConsoleMessage) -> None:
        # a page that is opened by its own path looks for its root at <path>/_stcore/ first: Streamlit's way, and a 404
        if message.type == "error" and "/_stcore/" not in message.location.get("url", ""):
            self.complaints.append(message.text)

    def is_foreign(self, url: str) -> bool:
        parts = urlparse(url)
        return parts.scheme in ("http", "https", "ws", "wss") and parts.netloc != urlparse(self.address).netloc

    def go(self, path: str, **params: str) -> None:
        """Open an address of the application and wait until it is drawn."""
        self.page.goto(f"{self.address}/{path}?{urlencode(params)}")
        self.settle()

    def settle(self) -> None:
        """The script has run and its headline stands."""
        expect(self.page.locator("h1").first).to_be_visible(timeout=PATIENCE_MS)
        expect(self.page.locator(BUSY)).to_have_count(0, timeout=PATIENCE_MS)
        assert self.page.locator("[data-testid=stException]").count() == 0

    def choose(self, title: str) -> None:
        """Another page, through the side bar."""
        self.page.get_by_test_id("stSidebarNav").get_by_role("link", name=title, exact=True).click()
        expect(self.page.get_by_test_id("stSidebarNav").locator("[aria-current=page]")).to_contain_text(title, timeout=PATIENCE_MS)
        self.settle()

    def clipped(self) -> list[str]:
        """What stands on the screen and does not fit into its place."""
        found: list[str] = self.page.evaluate(CLIPPED)
        return found

    def headline(self, words: str) -> None:
        # the old headline may stand for a moment beside the new one
        expect(self.page.locator("h1", has_text=words).first).to_be_visible(timeout=PATIENCE_MS)


def prepare(tab: Tab, person: str, decision: str, comment: str) -> None:
    """Step one of a sign-off, as a reviewer does it."""
    page = tab.page
    page.locator(".st-key-signing_as input").click()
    page.get_by_role("option", name=person).click()
    page.locator("[class*=st-key-decision-]").get_by_text(decision, exact=True).click()
    expect(page.locator(".st-key-prepare button")).to_be_enabled(timeout=PATIENCE_MS)
    page.locator("[class*=st-key-comment-] textarea").fill(comment)
    page.locator("[class*=st-key-comment-] textarea").blur()
    tab.settle()
    page.locator(".st-key-prepare button").click()
    tab.headline("Read and sign")
    tab.settle()


@contextmanager
def listener() -> Iterator[tuple[str, list[str]]]:
    """A web server that answers everything with an empty picture and remembers what it was asked for."""
    hits: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hits.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "image/png")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", hits
    finally:
        server.shutdown()
        server.server_close()
