"""Hostile texts on every page: nothing in them is fetched, followed, run or hidden.

The application is served by Streamlit alone, without our content security policy: what keeps the browser from fetching is
that no text ever reaches a Markdown or HTML sink. A listener counts what is fetched all the same; the last assertion shows
that it would count.
"""
from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from support_browser import PATIENCE_MS, ROOT, Tab, chromium, free_port, listener, prepare, serving
from support_desk import Desk
from support_sign_off import PASSPHRASE, make_desk

from core.canonical import canonical_bytes
from core.grid import default_grid
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.signing.propose import propose
from core.signing.signoff import prepare as prepare_statement
from core.signing.signoff import sign_and_append
from dashboard import navigation, signing_rules

pytestmark = pytest.mark.browser
HIDDEN = "\u202e\u200b\u2066\ufeff\x1b\x07"
"""Right-to-left override, zero-width space, isolate, byte order mark, escape, bell."""
NO_TRACE = """(url) => ({
  nodes: [...document.querySelectorAll('img, a, iframe, script, object, embed, link, source, form')]
    .map(node => node.src || node.href || node.data || node.action || '').filter(value => String(value).includes(url)),
  hidden: [...document.body.innerText.matchAll(/[\\u202a-\\u202e\\u2066-\\u2069\\u200b\\ufeff\\u001b\\u0007]/g)].length,
  alerts: window.hostile || 0,
  styles: [...document.querySelectorAll('[style]')].filter(node => node.getAttribute('style').includes(url)).length,
})"""


@dataclass
class Venom:
    """Hostile texts that name the listener, each of its own, so that a hit tells which one got through."""

    url: str
    made: int = 0

    def __call__(self, what: str, *, line: bool = False) -> str:
        self.made += 1
        beacon = f"{self.url}/{what}-{self.made}"
        text = f"![{what}]({beacon}) <img src={beacon} onerror=window.hostile=1> {HIDDEN}"
        if line:
            return text
        return f"{text}\n# [l]({beacon})\n<script>window.hostile=1</script> :material/lock: $$x$$ ` \x00 <style>*{{background:url({beacon})}}</style>"


def folder_of(place: Path, venom: Venom, round_id: str) -> Path:
    """A round folder in which every free text is hostile; its figures promote nothing and refuse plenty."""
    place.mkdir()
    judge, other = venom("judge", line=True), venom("other-judge", line=True)
    items = [{"id": venom("item", line=True), "prompt": venom("holdout-prompt")} for _ in range(3)]
    document = {
        "schema_version": 1, "round_id": round_id, "label": f"![l]({venom.url}/label)", "proposers": ["worker-curator-01"], "note": venom("note"),
        "baseline": {"name": venom("baseline", line=True)}, "candidate": {"name": venom("candidate", line=True)},
        "holdout_lock": {"sha256": hashlib.sha256(canonical_bytes(items)).hexdigest(), "registered_at": "2026-01-01T00:00:00Z",
                         "registered_by": venom("registrar", line=True)},
        "receipt_judges": {"calibrated": judge, "uncalibrated": other},
        "judges": {name: {"name": venom("judge-name", line=True), "version": venom("version", line=True), "rubric": venom("rubric")}
                   for name in (judge, other)},
    }
    records = [
        {"judge_id": name, "case_id": venom("case", line=True), "rubric_approved": approved, "verifier_passed": passed,
         "slice": venom("slice", line=True), "prompt": venom("case-prompt"), "response": venom("response"), "response_b": venom("response-b"),
         "rationale": venom("rationale")}
        for name in (judge, other) for approved, passed in ((True, True), (True, False), (False, False))
    ]
    outcomes = [
        {"id": item["id"], "arm": arm, "passed": passed, "slice": venom("outcome-slice", line=True), "response": venom("outcome")}
        for item, lost in zip(items, (True, False, False), strict=True) for arm, passed in (("baseline", True), ("candidate", not lost))
    ]
    parts: dict[str, list[dict[str, Any]]] = {
        "judge_records": records, "pairs": [_pair(venom, number) for number in range(4)], "outcomes": outcomes,
        "sanity": [{"id": venom("canary", line=True), "passed": False, "prompt": venom("canary-prompt"), "response": venom("canary-response")}],
    }
    (place / "round.json").write_text(json.dumps(document))
    (place / "holdout.json").write_text(json.dumps(items))
    for name, rows in parts.items():
        (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return place


def _pair(venom: Venom, number: int) -> dict[str, Any]:
    """Two that are admitted at first sight (the second a duplicate), one too long, one collapsed."""
    prompt, chosen = f"same prompt {venom.url}", f"same answer <img src={venom.url}/dup> {HIDDEN}"
    return {
        "pair_id": venom("pair", line=True), "origin": "verified", "prompt": prompt if number <= 1 else venom("prompt"),
        "chosen": chosen if number <= 1 else venom("chosen"), "rejected": venom("rejected"), "task_id": venom("task", line=True),
        "source": venom("source", line=True),
        "policy_logp_chosen": -30.0 if number == 3 else -4.0, "ref_logp_chosen": -5.0, "policy_logp_rejected": -60.0, "ref_logp_rejected": -6.0,
        "chosen_token_count": 10, "rejected_token_count": 30 if number == 2 else 10, "chosen_verified_pass": True, "rejected_tombstone_fail": True,
    }


@dataclass
class Poisoned:
    """A workspace of hostile rounds: one signed (rejected with a hostile comment), one proposed, one that nobody proposed."""

    desk: Desk
    signed: Round
    waiting: Round
    unproposed: Round


def poison(folder: Path, venom: Venom) -> Poisoned:
    made = make_desk(folder)
    (made.workspace.rounds_dir / "<img src=x onerror=window.hostile=1>").mkdir()
    now, registry = signing_rules.now(), made.registry
    rounds = []
    for name in ("signed", "waiting", "unproposed"):
        round_id = f"{name} ![r]({venom.url}/round-{name}) <img src={venom.url}/id-{name}>"
        source = folder_of(folder / name, venom, round_id)
        rounds.append(made.workspace.round(ingest(source, made.workspace, created_at="2026-01-05T12:00:00Z", now=now).digest))
    poisoned = Poisoned(made, *rounds)
    for source in (poisoned.signed, poisoned.waiting):
        propose(made.workspace, source, default_grid(), made.curator.id, made.curator, registry, now)
    assessment = made.assess(poisoned.signed)
    prepared = prepare_statement(made.workspace, poisoned.signed, assessment, made.verifier.id, "reject", venom("comment"), registry, now)
    sign_and_append(made.workspace, prepared.digest, made.verifier, registry, now)
    return poisoned


@pytest.fixture
def beacon() -> Iterator[tuple[str, list[str]]]:
    with listener() as running:
        yield running


def clean(tab: Tab, url: str, hits: list[str], where: str) -> None:
    """Nothing was fetched or ran, no node points at the listener, no hidden character stands raw on the screen."""
    found = tab.page.evaluate(NO_TRACE, url)
    assert found == {"nodes": [], "hidden": 0, "alerts": 0, "styles": 0}, where
    assert hits == [] and tab.foreign == [], where


def opened_views(round_: Round, desk: Desk) -> list[tuple[str, dict[str, str]]]:
    """Addresses that open one case, one pair, one holdout item, one ledger entry: hostile ids in the address too."""
    records = round_.table("judge_records").to_pylist()
    narrow, _ = next(iter(round_.pair_batches(10)))
    item = round_.holdout_items()[0]["id"]
    name = round_.digest[:12]
    decision = next(entry.index for entry in desk.ledger.read().entries if entry.kind == "decision")
    return [
        ("judges", {"round": name, "judge": records[0]["judge_id"], "cell": "tp", "case": records[0]["case_id"]}),
        ("rejected", {"round": name, "pair": narrow.column("pair_id").to_pylist()[2]}),
        ("leakage", {"round": name, "cluster": "1", "pair": narrow.column("pair_id").to_pylist()[0], "at": "prompt"}),
        ("holdout", {"round": name, "item": str(item)}),
        ("ledger", {"entry": str(decision)}),
        ("sign-off", {"round": name}),
    ]


def test_no_text_is_fetched_followed_run_or_hidden(tmp_path: Path, beacon: tuple[str, list[str]]) -> None:
    url, hits = beacon
    venom = Venom(url)
    poisoned = poison(tmp_path / "poisoned", venom)
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "dashboard/app.py", "--server.port", str(port)]
    with (
        serving(command, port, tmp_path / "home", COUNTERSIGN_WORKSPACE=str(poisoned.desk.workspace.root), PYTHONPATH=str(ROOT)) as address,
        chromium() as browser,
    ):
        tab = Tab.open(browser, address)
        tab.go("")
        expect(tab.page.locator("[data-testid=stMain]")).to_contain_text("![r](")      # as text, to the letter
        clean(tab, url, hits, "rounds")
        tab.go("overview", round=poisoned.waiting.digest[:12])
        clean(tab, url, hits, "overview")
        for page in navigation.available()[2:]:
            tab.choose(page.title)
            expect(tab.page.locator("[data-testid=stMain]")).to_contain_text("![r](" if page.key == "ledger" else "![l](", timeout=PATIENCE_MS)
            clean(tab, url, hits, page.key)
        _sign(tab, venom)
        clean(tab, url, hits, "sign")
        for path, params in opened_views(poisoned.signed, poisoned.desk):
            tab.go(path, **params)
            expect(tab.page.locator("[data-testid=stMain]")).to_contain_text("⟦U+202E⟧", timeout=PATIENCE_MS)
            clean(tab, url, hits, path)
        tab.go("sign-off", round=poisoned.unproposed.digest[:12])
        tab.headline("is not proposed yet")
        clean(tab, url, hits, "not proposed")
        _upload(tab, url, hits)
        tab.page.evaluate("url => fetch(url + '/control', {mode: 'no-cors'})", url)
        assert hits == ["/control"]                                                    # the listener does count


def _sign(tab: Tab, venom: Venom) -> None:
    """Prepare a rejection with a hostile comment, and look at it before and after a wrong passphrase."""
    page = tab.page
    tab.choose("Sign-off")
    prepare(tab, "worker-verifier-02", "Reject", venom("typed").replace("\x00", ""))
    page.locator(".st-key-passphrase input").fill(PASSPHRASE + "?")
    page.locator(".st-key-sign button").click()
    expect(page.locator(".st-key-sheet-error-sign-off")).to_contain_text("wrong_passphrase", timeout=PATIENCE_MS)
    tab.settle()


def _upload(tab: Tab, url: str, hits: list[str]) -> None:
    """Files with hostile names and content."""
    broken = json.dumps({f"![k]({url}/key)": f"<img src={url}/value>"}).encode()
    name = f"![n]({url.replace('/', ':')}) <img src=x onerror=window.hostile=1>"
    tab.go("")
    tab.page.get_by_text("Upload a bundle").click()
    tab.page.locator(".st-key-bundle input[type=file]").set_input_files({"name": f"{name}.json", "mimeType": "application/json", "buffer": broken})
    tab.page.locator(".st-key-ingest button").click()
    expect(tab.page.locator(".st-key-sheet-error-upload")).to_contain_text("To do (", timeout=PATIENCE_MS)
    clean(tab, url, hits, "upload of a bundle")
    tab.choose("Ledger")
    archive = {"name": f"{name}.zip", "mimeType": "application/zip", "buffer": broken}
    tab.page.locator(".st-key-uploaded_export input[type=file]").set_input_files(archive)
    expect(tab.page.locator(".st-key-sheet-error-verify")).to_contain_text("To do (", timeout=PATIENCE_MS)
    clean(tab, url, hits, "upload of an export")
