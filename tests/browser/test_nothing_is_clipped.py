"""Every page, its states and the demo rounds, at the narrowest width that is promised: nothing has to be scrolled sideways, is
cut at the edge of a box, or reaches beyond its place."""
from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qsl

import pytest
from playwright.sync_api import Browser
from support_browser import Tab, prepare

pytestmark = pytest.mark.browser
WIDTH = 1024
REVIEWER = "worker-verifier-02"
IFEVAL, QWEN, COLLAPSED, RPO, JUDGES, EXAMPLE = "ifeval-4o", "ifeval-qwen", "smollm2-dpo-only", "smollm2-rpo", "judges", "worked-example"
VIEWS = [
    "", "ledger", "ledger?entry=0", f"overview?round={IFEVAL}", f"overview?round={COLLAPSED}", f"overview?round={JUDGES}",
    f"judges?round={COLLAPSED}", f"judges?round={JUDGES}", f"judges?round={COLLAPSED}&judge=self-judge&cell=fp",
    *(f"judges?round={COLLAPSED}&judge=self-judge&evidence={part}" for part in ("strength", "slices", "bias", "earlier rounds")),
    f"judges?round={JUDGES}&judge=pandalm-7b&evidence=other raters", f"curation?round={COLLAPSED}&margin=1:3", f"curation?round={EXAMPLE}",
    *(f"rejected?round={COLLAPSED}&state={state}" for state in ("rejected", "admitted", "held")), f"rejected?round={EXAMPLE}&reason=duplicate",
    f"leakage?round={IFEVAL}&cluster=9", f"leakage?round={EXAMPLE}", f"leakage?round={JUDGES}",
    f"holdout?round={QWEN}&against={IFEVAL}", f"holdout?round={COLLAPSED}", f"sign-off?round={IFEVAL}", f"sample?round={IFEVAL}",
]
"""Each page, and those of its states that hold the widest tables."""


@pytest.fixture
def tab(browser: Browser, address: str) -> Iterator[Tab]:
    opened = Tab.open(browser, address)
    opened.page.set_viewport_size({"width": WIDTH, "height": 900})
    yield opened
    opened.page.close()


def test_every_view_fits(tab: Tab) -> None:
    found = {}
    for view in VIEWS:
        path, _, query = view.partition("?")
        tab.go(path, **dict(parse_qsl(query)))
        tab.page.wait_for_timeout(150)              # charts take their width after the page has run
        if clipped := tab.clipped():
            found[view] = clipped
    assert found == {}


def test_the_steps_of_a_sign_off_and_of_a_sample_fit(tab: Tab) -> None:
    tab.go("sign-off", round=QWEN)
    prepare(tab, REVIEWER, "Reject", "A comment of some length, " * 8)
    assert tab.clipped() == []
    tab.page.locator(".st-key-passphrase input").fill(tab.page.locator(".st-key-sheet-demo-passphrase .cs-mono").inner_text())
    tab.page.locator(".st-key-sign button").click()
    tab.headline(f"was rejected by {REVIEWER}")
    tab.settle()
    assert tab.clipped() == []
    for title in ("Ledger", "Rounds"):
        tab.choose(title)
        assert tab.clipped() == [], title
    tab.go("sample", round=COLLAPSED)
    tab.page.locator(".st-key-you_are input").click()
    tab.page.get_by_role("option", name=REVIEWER).click()
    tab.page.get_by_role("button", name="Draw the sample and begin").click()
    tab.page.get_by_role("button", name="Tie").wait_for()
    assert tab.clipped() == []


def test_the_check_sees_what_is_cut_and_what_spills(tab: Tab) -> None:
    """A control: a check that finds nothing has to be able to find something."""
    tab.go("overview", round=IFEVAL)
    assert tab.clipped() == []
    tab.page.evaluate("document.querySelector('.cs-sheet .cs-table').style.width = '3000px'")
    assert any("3000 px" in line or "table" in line for line in tab.clipped())
    tab.page.evaluate("document.querySelector('.cs-sheet .cs-table').style.width = ''")
    tab.page.evaluate("document.querySelector('.cs-sheet .cs-p').style.cssText = 'white-space: nowrap; width: max-content; max-width: none'")
    assert tab.clipped() != []
