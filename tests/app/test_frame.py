"""The frame: every page of the navigation, the picker, the status line, who you are, and the states that every page has."""
from __future__ import annotations

import errno
import json
import os

import pytest
from streamlit.testing.v1 import AppTest
from support_desk import Desk
from support_rounds import folder_of, pair
from support_sheets import ROOT, links, open_page, said, sheets
from support_signing import NOW

from core.grid import default_grid, grid_from_document
from core.rounds.folder import PAIRS_FILE
from core.rounds.ingest import ingest
from core.signing.grids import accept_grid
from dashboard import loaders, navigation

OF_A_ROUND = [page.key for page in navigation.PAGES if page.key not in ("rounds", "ledger")]


def show(page: str, **params: str) -> AppTest:
    """A page by its key, as a visit to its address."""
    at = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60)
    for name, value in params.items():
        at.query_params[name] = value
    at.run()
    return at.switch_page(str(navigation.page_file(page))).run()


def test_every_page_of_the_navigation_is_installed() -> None:
    assert [page.title for page in navigation.available()] == [
        "Rounds", "Overview", "Judges", "Curation", "Rejected pairs", "Leaks and style", "Sample", "Holdout", "Sign-off", "Ledger",
    ]


@pytest.mark.parametrize("page", [page.key for page in navigation.PAGES])
@pytest.mark.parametrize("name", ["smollm2-dpo-only", "ifeval-4o", "judges", "worked-example", "smollm2-rpo"])
def test_every_page_opens_with_one_finding(pages: Desk, page: str, name: str) -> None:
    at = show(page, round=name)
    assert not at.exception
    headings = [block for content in sheets(at).values() for block in content if block["k"] == "heading" and block["level"] == "h1"]
    assert len(headings) == 1


@pytest.mark.parametrize("page", OF_A_ROUND)
def test_the_status_line_is_the_same_on_every_page(pages: Desk, page: str) -> None:
    # 572 = 12 + 538 + 22 + 0, published with the demo round
    status = said(show(page, round="smollm2-dpo-only"), "status")
    grid = f"grid v{default_grid().version}"
    for expected in ("Refuse", "12 admitted", "538 rejected", "22 held", "0 quarantined", "lock holds", grid, "not identified"):
        assert expected in status


def test_a_round_that_lacks_parts_says_so_in_the_status_line(pages: Desk) -> None:
    status = said(show("overview", round="judges"), "status")
    assert "no pairs supplied" in status and "no holdout" in status and "0 admitted" not in status


def test_the_label_stands_beside_the_round_on_every_page(pages: Desk) -> None:
    for page in OF_A_ROUND:
        assert "composite, for demonstration" in said(show(page, round="ifeval-4o"), "label")
    picker = show("overview", round="ifeval-4o").selectbox(key="round_picker")
    assert any("composite, for demonstration" in option for option in picker.options)


def test_the_picker_names_id_state_date_and_proposer(pages: Desk) -> None:
    options = show("overview").selectbox(key="round_picker").options
    assert options[0].startswith("ifeval-4o · proposed · 2026-11-17 · worker-curator-01")
    assert "smollm2-rpo · rejected · 2026-11-09 · worker-curator-01" in options
    assert "worked-example · approved · 2026-11-02 · worker-curator-01" in options


def test_without_an_address_the_newest_round_is_open_and_the_url_says_which(pages: Desk) -> None:
    at = show("overview")
    newest = pages.workspace.round("ifeval-4o").digest
    assert at.query_params["round"] == newest[:12]


def test_previous_next_and_picker_change_the_round_and_close_what_was_open_in_it(pages: Desk) -> None:
    at = show("judges", round="smollm2-dpo-only", judge="loose-check", cell="fp", case="1148-3")
    assert "22 cases" in said(at)
    at.button(key="older").click().run()
    assert at.query_params["round"] == pages.workspace.round("smollm2-rpo").digest[:12]
    assert "cell" not in at.query_params and "case" not in at.query_params
    assert "11 of 293" in said(at)
    at.button(key="newer").click().run()
    assert "22 of 320" in said(at)
    at.selectbox(key="round_picker").set_value(pages.workspace.round("worked-example").digest).run()
    assert at.query_params["round"] == pages.workspace.round("worked-example").digest[:12]
    assert at.button(key="older").disabled and not at.button(key="newer").disabled


def test_the_open_round_is_kept_when_the_page_changes_without_an_address(pages: Desk) -> None:
    at = show("judges", round="smollm2-rpo")
    del at.query_params["round"]
    at.switch_page(str(navigation.page_file("holdout"))).run()
    assert at.query_params["round"] == pages.workspace.round("smollm2-rpo").digest[:12]


def test_who_you_are_is_never_read_from_the_url_and_never_shared(pages: Desk) -> None:
    at = show("overview", round="ifeval-4o", reviewer_id="ben@example.org", you_are="ben@example.org", person="ben@example.org")
    assert "not identified" in said(at, "status")
    at.selectbox(key="you_are").set_value("ben@example.org").run()
    assert "ben@example.org" in said(at, "status")
    other = show("overview", round="ifeval-4o")
    assert "not identified" in said(other, "status") and "ben@example.org" not in said(other, "status")


def test_the_identity_stays_when_the_page_changes(pages: Desk) -> None:
    at = show("overview", round="ifeval-4o")
    at.selectbox(key="you_are").set_value("ben@example.org").run()
    at.switch_page(str(navigation.page_file("holdout"))).run()
    assert "ben@example.org" in said(at, "status")


@pytest.mark.parametrize("page", OF_A_ROUND)
def test_an_empty_workspace_gives_three_steps_and_the_demo(empty: Desk, page: str) -> None:
    at = show(page)
    assert not at.exception
    text = said(at)
    assert "No round yet" in text and "countersign ingest" in text and "countersign propose" in text and "countersign demo" in text


def test_a_folder_that_is_no_workspace_reads_as_empty(empty: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERSIGN_WORKSPACE", str(empty.workspace.root / "nowhere"))
    for page in ("rounds", "overview"):
        assert "No round yet" in said(show(page))


def test_an_address_that_names_no_round_says_what_to_do(pages: Desk) -> None:
    at = show("overview", round="gone")
    assert not at.exception
    assert "names no round" in said(at) and "'gone'" in said(at)
    assert "choose a round" in links(at)


def test_a_changed_part_is_a_broken_file_with_a_next_step(own: Desk) -> None:
    source = own.workspace.round("smollm2-dpo-only")
    records = source.path / "judge_records.parquet"
    records.chmod(0o644)
    records.write_bytes(records.read_bytes()[:-40])
    at = show("judges", round="smollm2-dpo-only", judge="loose-check", cell="fp")
    assert not at.exception
    text = said(at)
    assert "judge_records.parquet" in text and "To do" in text


def test_a_round_whose_manifest_changed_is_not_shown_as_a_round(own: Desk) -> None:
    file = own.workspace.round("judges").path / "round.json"
    file.chmod(0o644)
    file.write_bytes(file.read_bytes().replace(b'"judges"', b'"judgex"', 1))
    at = show("rounds")
    text = said(at, "section-broken")
    assert "SHA-256" in text and "To do" in text
    assert "judges" not in links(at, "section-all")


def test_a_broken_ledger_is_said_and_the_evidence_still_shows(own: Desk) -> None:
    own.workspace.ledger_file.chmod(0o644)
    own.workspace.ledger_file.write_bytes(b"{}\n" + own.workspace.ledger_file.read_bytes())
    at = show("overview", round="smollm2-dpo-only")
    assert not at.exception
    text = said(at)
    assert "receipts.jsonl" in text and "2 of 6 checks fail" in text and "ledger cannot be read" in text


def test_a_round_too_large_for_a_page_is_left_to_the_command_line(own: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaders, "is_quick", lambda source: False)
    monkeypatch.setattr(loaders, "is_assessed", lambda workspace, digest, grid: False)
    at = show("overview", round="smollm2-dpo-only")
    assert "too many to assess" in said(at) and "countersign decide" in said(at)
    assert "not assessed yet" in said(show("rounds"), "section-all")


def test_a_proposal_under_a_grid_that_is_no_longer_accepted_is_stale(own: Desk) -> None:
    document = json.loads(default_grid().canonical)
    document["version"], document["keys"]["max_regression_rate"]["value"] = default_grid().version + 1, "0.10"
    grid = grid_from_document(document)
    accept_grid(own.workspace, grid, own.ben.id, own.registry, now=NOW)
    source = own.workspace.round("ifeval-qwen")
    own.propose(source, grid=grid)
    # 27 of 501 = 5.39 %: above 5 %, below 10 %
    accepted = show("overview", round="ifeval-qwen")
    assert f"grid v{grid.version}" in said(accepted, "status") and "all 6 checks hold" in said(accepted)
    assert "max_regression_rate" in said(accepted, "section-grid")
    own.workspace.grids_file.unlink()
    stale = show("overview", round="ifeval-qwen")
    assert "no longer accepted" in said(stale, "standing") and "propose it again" in said(stale, "standing")


def test_hostile_names_reach_the_page_as_visible_text(empty: Desk) -> None:
    about = {
        "schema_version": 1, "round_id": "![x](http://127.0.0.1:9/a.png)", "proposers": ["worker-curator-01"],
        "label": "**bold** :red[x]", "note": "<img src=x>\u202e [link](http://127.0.0.1:9)", "candidate": {"name": "\u202ecandidate"},
    }
    source = folder_of(empty.workspace.root.parent / "hostile", {"pairs": [pair()]}, about=about)
    ingest(source, empty.workspace, now=NOW)
    at = show("overview")
    assert not at.exception
    text = said(at)
    assert "\u202e" not in text and "⟦U+202E⟧" in text and "<img src=x>" in text
    # nothing of it went into a Markdown sink
    assert not any("127.0.0.1" in element.value for element in (*at.markdown, *at.caption, *at.error))


def test_a_broken_registry_is_said_in_the_side_bar(own: Desk) -> None:
    own.workspace.registry_file.write_text("registry_version = 1\n[persons\n")
    at = open_page("overview.py", round="ifeval-4o")
    assert "reviewers.toml" in said(at, "error-registry")


def test_the_pairs_of_a_page_come_from_the_round_that_it_names(pages: Desk) -> None:
    # two sessions, two rounds: each sees its own
    one, other = show("overview", round="smollm2-rpo"), show("overview", round="smollm2-dpo-only")
    assert "377 admitted" in said(one, "status") and "12 admitted" in said(other, "status")
    assert PAIRS_FILE in pages.workspace.round("smollm2-rpo").manifest.files


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, "no_space"), (errno.EACCES, "not_permitted"), (errno.EMFILE, "too_many_open_files")])
def test_what_the_machine_refuses_is_said_as_in_a_terminal(pages: Desk, monkeypatch: pytest.MonkeyPatch, number: int, code: str) -> None:
    def failing(*given: object, **named: object) -> None:
        raise OSError(number, os.strerror(number), "rounds\u202e")

    monkeypatch.setattr(loaders, "desk", failing)
    at = show("overview", round="ifeval-4o")
    assert not at.exception
    notice = said(at, "error-page")
    assert notice.startswith("rounds⟦U+202E⟧: expected ") and "To do (whoever runs this): " in notice and notice.endswith(code)
