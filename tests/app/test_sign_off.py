"""Sign-off: two steps and a receipt, and every state in which nothing is signed. The clock is the tests'; keys are real."""
from __future__ import annotations

import itertools
import json
import threading
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from support_desk import BUNDLE, Desk
from support_export import round_with
from support_rounds import pair
from support_sheets import links, open_page, said, sheets, table
from support_sign_off import PASSPHRASE, Room, make_desk, prepare, read, room_of, sign
from support_signing import NOW, Actor

from core.canonical import canonical_bytes, sha256_hex
from core.errors import CountersignError
from core.gates.receipt import PROMOTE_AWAITING
from core.grid import Grid, default_grid, grid_from_document
from core.persons.registry import Registry
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.sampling.marks import Marks
from core.signing.dsse import seal
from core.signing.grids import accept_grid
from core.signing.propose import lock_holdout
from core.signing.signoff import open_prepared
from core.signing.statement import PAYLOAD_TYPE
from dashboard import loaders, session, signing_actions, signing_rules

VERIFIER = "worker-verifier-02"
EVIDENCE = ("Overview", "Judges", "Curation", "Rejected pairs", "Leaks and style", "Sample", "Holdout")


@pytest.fixture(scope="module")
def proposed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Round]:
    """The worked example, proposed; its bundle names worker-verifier-02 as reviewer."""
    made = make_desk(tmp_path_factory.mktemp("proposed"))
    source = made.round()
    made.propose(source)
    made.assess(source)
    return made, source


@pytest.fixture(scope="module")
def anyones(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Round]:
    """The worked example without a named reviewer, proposed."""
    made = make_desk(tmp_path_factory.mktemp("anyones"))
    source = made.round(reviewer_id=...)
    made.propose(source)
    made.assess(source)
    return made, source


@pytest.fixture
def room(proposed: tuple[Desk, Round], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    return room_of(proposed[0], tmp_path, monkeypatch)


@pytest.fixture
def source(proposed: tuple[Desk, Round], room: Room) -> Round:
    return room.desk.workspace.round(proposed[1].digest)


@pytest.fixture
def open_to_all(anyones: tuple[Desk, Round], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Room, Round]:
    room = room_of(anyones[0], tmp_path, monkeypatch)
    return room, room.desk.workspace.round(anyones[1].digest)


def test_an_admitted_pair_that_repeats_the_holdout_is_said_before_anybody_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = make_desk(tmp_path / "leaky")
    # pair-rpo-clean-1 is admitted, and its prompt becomes the first locked item's: an exact repeat
    document = json.loads(BUNDLE.read_bytes())
    candidates = document["verified_candidates"]
    (clean,) = [row for row in candidates if row["pair_id"] == "pair-rpo-clean-1"]
    clean["prompt"] = document["holdout_suite"][0]["prompt"]
    source = desk.round(verified_candidates=candidates)
    desk.propose(source)
    assert desk.assess(source).document["reason_table"]["admitted"] == 2
    at = room_of(desk, tmp_path, monkeypatch).open(source)
    said = read(at, "warning-leaks")
    assert "1 admitted pair repeats the locked holdout." in said and "no check of this grid stops that" in said and "See leaks and style" in said


def test_nothing_is_said_of_leaks_where_no_pair_repeats_the_holdout(room: Room, source: Round) -> None:
    assert "warning-leaks" not in sheets(room.open(source))


def test_an_admitted_pair_that_the_declared_cut_off_makes_equal_is_said_before_anybody_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """"The lock is held." and "The lock is free." share the 12 characters that are kept."""
    desk = make_desk(tmp_path / "cut")
    late = pair(pair_id="late", prompt="Which?", chosen="The lock is held.", rejected="The lock is free.")
    source = round_with(desk, [late], about={"training_cutoff": {"length": 12, "counts": "completion_characters"}})
    desk.propose(source)
    said = read(room_of(desk, tmp_path, monkeypatch).open(source), "warning-cutoff")
    assert "Training keeps the first 12 characters of each answer" in said and "pair late" in said and "A cut-off rejects none" in said


def test_nothing_is_said_of_a_cut_off_that_nobody_declared(room: Room, source: Round) -> None:
    assert "warning-cutoff" not in sheets(room.open(source))


def prepared_digest(at: AppTest, source: Round) -> str | None:
    kept = at.session_state["sign_off"][source.digest] if "sign_off" in at.session_state else signing_actions.Memory()
    return kept.prepared


def reason(at: AppTest) -> str:
    return read(at, "why-prepare")


# step one

def test_prepare_says_what_who_and_what_is_missing(room: Room, source: Round) -> None:
    at = room.open(source)
    assert not at.exception
    assert "awaits a reviewer's decision" in read(at, "headline-sign-off")
    matter = read(at, "section-matter")
    assert "2 admitted pairs may train the next generation." in matter
    assert "replaces the baseline" in matter and "One signature says both, and neither alone." in matter
    # by hand from the bundle: 5 candidates in 2 lists, 2 admitted, 3 rejected
    assert "5 in = 2 admitted + 3 rejected + 0 held + 0 quarantined" in read(at, "section-facts")
    assert "stated by the proposer only" in read(at, "section-facts")
    assert "without identifying its bytes" in read(at, "warning-candidate")
    assert "worker-curator-01" in read(at, "proposer") and "until it is known who signs" in read(at, "proposer")
    assert at.button(key="prepare").disabled
    assert reason(at) == "Not yet: Choose who signs."
    assert at.selectbox(key="signing_as").options == ["worker-curator-01", VERIFIER, "ben@example.org", "eva@example.org"]
    at.selectbox(key="signing_as").set_value(VERIFIER).run()
    assert at.selectbox(key="you_are").value == VERIFIER                       # the side bar follows
    assert "yes none of the proposers, by id or alias" in read(at, "proposer")
    assert reason(at) == "Not yet: Choose to approve or to reject."
    at.button_group[0].set_value("Reject").run()
    assert "does not replace the baseline" in read(at, "section-matter")
    assert not at.button(key="prepare").disabled
    assert "Nothing is signed yet" in reason(at)
    assert at.text_area[0].max_chars == 4000


def test_what_the_evidence_can_prove_is_said_before_and_while_signing(room: Room, source: Round) -> None:
    at = room.open(source)
    strength = read(at, "section-strength")
    assert "Regressions: meets, not proven: needs 54 more items." in strength
    assert "false positive rate meets, not proven: needs 56 more failed cases" in strength
    assert "no result on 5 items can reach p <.05" in strength
    looks = read(at, "section-looks")
    assert "None of the 5 holdout items was looked at before in this workspace." in looks and "look 1 of 20 planned" in looks
    assert "once you say who signs" in read(at, "section-sampled")
    at.selectbox(key="signing_as").set_value(VERIFIER).run()
    assert "The reviewer judged no sample of the 2 admitted pairs." in read(at, "section-sampled")
    prepare(at)
    signed = read(at, "section-evidence")
    for line in ("needs 56 more failed cases", "None of the 5 holdout items was looked at before", "The reviewer judged no sample"):
        assert line in signed


def test_earlier_looks_are_counted_where_they_are_signed(room: Room, source: Round) -> None:
    room.desk.assess(room.desk.round("another"))
    assert "Looked at" not in read(room.open(source), "section-looks")       # a later look is not an earlier one
    later = room.desk.round("another")
    room.desk.propose(later)
    looks = read(room.open(later), "section-looks")
    assert "1 earlier round looked at these holdout items (at up to 5 of the 5 at once; none is fresh): this is look 2." in looks
    assert "The gain's exact p = 1 is not within the 0.0025 that this look may use." in looks


def test_what_was_opened_is_shown(room: Room, source: Round) -> None:
    at = room.open(source, VERIFIER)
    shown = read(at, "section-opened")
    # every page of evidence, in the order of the work
    assert [shown.index(title) for title in EVIDENCE] == sorted(shown.index(title) for title in EVIDENCE)
    assert shown.count("not opened") == len(EVIDENCE)
    at.session_state["opened_pages"] = {(source.digest, "overview"), (source.digest, "sample"), (source.digest, "ledger"), ("00" * 32, "judges")}
    at.run()
    assert read(at, "section-opened").count("not opened") == len(EVIDENCE) - 2
    opened = open_prepared(room.desk.workspace, str(prepared_digest(prepare(at), source))).statement.predicate["coverage"]["opened"]
    # the sign-off page itself and the ledger are no evidence, and another round's page is not this one's
    assert opened == {"pages": ["Overview", "Sample"], "not_opened": ["Judges", "Curation", "Rejected pairs", "Leaks and style", "Holdout"]}
    said = "the reviewer had opened Overview, Sample; not opened: Judges, Curation, Rejected pairs, Leaks and style, Holdout."
    assert said in read(at)


def test_a_dispute_made_on_the_page_is_in_the_statement_that_the_page_prepares(room: Room, source: Round) -> None:
    marked = open_page("rejected.py", round=source.digest, pair="pair-length-bias")
    marked.selectbox(key="you_are").set_value(VERIFIER).run()
    marked.button(key="dispute_pair").click().run()
    marked.button(key="see_pair").click().run()
    at = room.open(source, VERIFIER)
    assert "The statement names them, each with where the engine put it" in read(at, "section-disputed")
    assert "You marked 1 pair as seen." in read(at, "section-disputed")
    sign(prepare(at))
    line = "The reviewer disputes 1 pair: pair-length-bias (rejected); 1 pair marked as seen."
    entry = room.entries()[-1]
    disputes = entry.statement.predicate["coverage"]["disputes"]
    assert (disputes["pairs"], disputes["seen"]) == ([{"pair_id": "pair-length-bias", "state": "rejected"}], 1)
    assert line in read(open_page("ledger.py", entry=str(entry.index)), f"section-entry-{entry.index}-evidence")


def test_what_is_disputed_is_read_before_it_is_signed(room: Room, source: Round) -> None:
    Marks(room.desk.workspace, source.digest, VERIFIER).put("disputed", "pair-collapse-trap", NOW)
    at = prepare(room.open(source, VERIFIER))
    line = "The reviewer disputes 1 pair: pair-collapse-trap (rejected); no pair marked as seen."
    assert line in read(at, "section-evidence") and '"pair_id":"pair-collapse-trap"' in at.code[0].value


def test_an_address_names_nobody(room: Room, source: Round) -> None:
    """``?reviewer_id=`` is what anybody can type; the choice of a person is the session's own, and only a key signs."""
    at = AppTest.from_file(str(Path(__file__).parents[2] / "dashboard" / "app.py"), default_timeout=60)
    at.query_params["round"] = source.digest
    at.query_params["reviewer_id"] = VERIFIER
    at.query_params["signing_as"] = VERIFIER
    at.run().switch_page(str(Path(__file__).parents[2] / "pages" / "sign_off.py")).run()
    assert at.selectbox(key="signing_as").value is None and at.button(key="prepare").disabled


def test_two_sessions_are_two_people(open_to_all: tuple[Room, Round]) -> None:
    room, source = open_to_all
    first = prepare(room.open(source, VERIFIER), comment="mine")
    second = room.open(source, "ben@example.org")
    assert second.selectbox(key="signing_as").value == "ben@example.org"
    assert second.text_area[0].value == "" and prepared_digest(second, source) is None
    assert "waiting" not in sheets(second)                                     # what another person prepared is not offered
    assert first.selectbox(key="you_are").value == VERIFIER


# step two

def test_the_bytes_shown_are_the_bytes_signed(room: Room, source: Round) -> None:
    at = prepare(room.open(source, VERIFIER), comment="both pairs read, ünicode too")
    digest = prepared_digest(at, source)
    assert digest is not None
    payload = open_prepared(room.desk.workspace, digest).payload
    shown = at.code[0].value
    assert shown.encode() == payload and sha256_hex(shown.encode()) == digest
    assert f"{len(payload):,} bytes" in read(at, "section-bytes-prepared") and digest[:12] in read(at, "section-bytes-prepared")
    assert "15 min 0 s left" in read(at, "countdown")                          # statement_ttl_s is 900
    words = read(at, "section-words")
    assert "You, worker-verifier-02, approve round worked-example, proposed by worker-curator-01." in words
    assert "both pairs read" in words and "2 admitted pairs may train" in words
    sign(at)
    assert [entry.kind for entry in room.entries()] == ["proposal", "decision"]
    assert room.entries()[1].statement.payload == payload


def test_after_signing_there_is_a_verified_receipt(room: Room, source: Round) -> None:
    at = sign(prepare(room.open(source, VERIFIER)))
    assert not at.exception
    entry = room.entries()[1]
    assert "was approved by worker-verifier-02" in read(at, "headline-sign-off")
    assert "ledger entry 1" in read(at, "state-signed")
    result = read(at, f"section-verification-{entry.digest}")
    assert "APPROVED" in result and "Verified and recomputed" in result
    assert [button.label for button in at.get("download_button")] == ["Download the receipt"]
    command = at.code[0].value
    assert command.startswith(f"countersign verify worked-example-approve-{entry.digest[:12]}.zip --registry ")
    assert f"/rounds/{source.digest} --ledger " in command and command.endswith("ledger/receipts.jsonl")


def test_neither_passphrase_nor_key_stays_in_the_session(room: Room, source: Round) -> None:
    at = prepare(room.open(source, VERIFIER))
    at.text_input(key="passphrase").set_value("not the passphrase")
    at.button(key="sign").click().run()
    assert "passphrase" in read(at, "error-sign-off") and len(room.entries()) == 1
    assert at.text_input(key="passphrase").value == ""
    sign(at)
    kept = str(at.session_state)
    assert len(room.entries()) == 2
    assert PASSPHRASE not in kept and "not the passphrase" not in kept and "PrivateKey" not in kept
    # st.cache_* must not have seen it either: the signer is made in the callback and dropped with it
    assert PASSPHRASE not in repr(signing_rules.UnlockLater(Path("k"), PASSPHRASE))


def test_a_wrong_passphrase_leaves_the_statement_ready(room: Room, source: Round) -> None:
    at = prepare(room.open(source, VERIFIER))
    digest = prepared_digest(at, source)
    sign(at, "a passphrase of somebody else")
    assert "wrong_passphrase" in read(at, "error-sign-off") and prepared_digest(at, source) == digest
    assert len(room.entries()) == 1
    sign(at)
    assert len(room.entries()) == 2


def test_a_double_submit_signs_once(room: Room, source: Round) -> None:
    """The browser sends the form twice, the second time empty: the callback runs twice with one digest."""
    at = prepare(room.open(source, VERIFIER))
    digest = prepared_digest(at, source)
    assert digest is not None
    key_file = room.desk.workspace.keys_dir / VERIFIER
    barrier, repeated = threading.Barrier(2), []

    def click(passphrase: str) -> None:
        barrier.wait()
        repeated.append(signing_rules.sign(room.desk.workspace, digest, key_file, passphrase).repeated)

    clicks = [threading.Thread(target=click, args=(PASSPHRASE,)) for _ in range(2)]
    for one in clicks:
        one.start()
    for one in clicks:
        one.join()
    assert sorted(repeated) == [False, True] and len(room.entries()) == 2
    assert signing_rules.sign(room.desk.workspace, digest, key_file, "").repeated     # an empty form after the fact asks for nothing
    assert len(room.entries()) == 2
    assert "was approved by worker-verifier-02" in read(at.run(), "headline-sign-off")


def test_a_dropped_connection_after_the_core_call_loses_nothing(room: Room, source: Round, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit stops a script at its next session access; the ledger has the receipt, and the page reads the ledger."""
    at = prepare(room.open(source, VERIFIER))
    monkeypatch.setattr(signing_actions, "remember", lambda *_: st.stop())
    at.text_input(key="passphrase").set_value(PASSPHRASE)
    at.button(key="sign").click().run()
    assert len(room.entries()) == 2
    assert "was approved by worker-verifier-02" in read(at.run(), "headline-sign-off")


def test_a_reload_goes_on_with_what_was_prepared(room: Room, source: Round) -> None:
    digest = prepared_digest(prepare(room.open(source, VERIFIER), comment="kept"), source)
    room.wait(60)
    reloaded = room.open(source, VERIFIER)
    assert "can still be signed for 14 min 0 s" in read(reloaded, "waiting")
    reloaded.button(key="continue").click().run()
    assert prepared_digest(reloaded, source) == digest and "kept" in read(reloaded, "section-words")
    reloaded.button(key="discard").click().run()
    assert "1 Prepare" in read(reloaded, "headline-sign-off") and len(room.entries()) == 1


def test_a_draft_comment_stays_with_its_round(room: Room, source: Round) -> None:
    other = room.desk.round("another-round")
    room.desk.propose(other)
    at = room.open(source, VERIFIER)
    at.text_area[0].set_value("about the first").run()
    at.selectbox(key="round_picker").set_value(other.digest).run()
    assert "another-round" in read(at, "headline-sign-off") and at.text_area[0].value == ""
    at.selectbox(key="round_picker").set_value(source.digest).run()
    assert at.text_area[0].value == "about the first"


# own machine

def own_machine(at: AppTest) -> AppTest:
    return at.button_group(key="sign_with").set_value("My own machine").run()


def uploaded(at: AppTest, data: bytes) -> AppTest:
    at.file_uploader(key="signed_receipt").upload("receipt.json", data, "application/json").run()
    return at.button(key="append").click().run()


def test_sign_on_ones_own_machine(room: Room, source: Round) -> None:
    at = own_machine(prepare(room.open(source, VERIFIER)))
    assert at.button(key="append").disabled and "no signed receipt is uploaded" in read(at, "why-append")
    assert "passphrase" not in {widget.key for widget in at.text_input}
    digest = prepared_digest(at, source)
    assert digest is not None
    payload = open_prepared(room.desk.workspace, digest).payload
    uploaded(at, seal(PAYLOAD_TYPE, payload, room.desk.verifier).encoded)
    assert len(room.entries()) == 2 and "was approved by" in read(at, "headline-sign-off")


@pytest.mark.parametrize(("signer", "change", "code"), [
    ("verifier", b' "comment":"x"', "another_statement"), ("ben", b"", "anothers_key"), (None, b"", "wrong_fields"),
])
def test_a_wrong_upload_changes_nothing(room: Room, source: Round, signer: str | None, change: bytes, code: str) -> None:
    at = own_machine(prepare(room.open(source, VERIFIER)))
    digest = prepared_digest(at, source)
    assert digest is not None
    payload = open_prepared(room.desk.workspace, digest).payload
    if change:
        payload = canonical_bytes(json.loads(payload) | {"predicate": json.loads(payload)["predicate"] | {"comment": "x"}})
    data = b"{}" if signer is None else seal(PAYLOAD_TYPE, payload, getattr(room.desk, signer)).encoded
    before = room.desk.tree()
    uploaded(at, data)
    assert code in read(at, "error-sign-off") and prepared_digest(at, source) == digest
    assert room.desk.tree() == before


def test_a_server_that_others_can_reach_takes_no_passphrase(room: Room, source: Round, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "on_loopback", lambda: False)
    at = prepare(room.open(source, VERIFIER))
    assert not at.text_input
    assert "can be reached from other machines" in read(at, "state-loopback") and "download the statement" in read(at, "state-loopback")
    assert [button.label for button in at.get("download_button")] == ["Download the statement"]


def test_no_key_in_the_workspace(room: Room, source: Round) -> None:
    (room.desk.workspace.keys_dir / VERIFIER).unlink()
    at = prepare(room.open(source, VERIFIER))
    assert "holds no key of worker-verifier-02" in read(at, "state-no-key") and not at.text_input


def test_the_demo_passphrase_is_shown_in_a_demo_workspace_only(room: Room, source: Round) -> None:
    assert "demo-passphrase" not in sheets(prepare(room.open(source, VERIFIER)))
    persons = [{"id": name, "role": role, "passphrase": passphrase} for name, role, passphrase in (
        ("worker-curator-01", "proposer", "aaaa-bbbb-cccc"), (VERIFIER, "reviewer", "dddd-eeee"),
    )]
    (room.desk.workspace.root / "demo.json").write_bytes(canonical_bytes({"demo_version": 1, "note": "n", "persons": persons}))
    text = read(prepare(room.open(source, VERIFIER)), "demo-passphrase")
    assert "Demo identity." in text and "dddd-eeee" in text and "aaaa-bbbb-cccc" not in text


# what must not go through

def refused_without_a_trace(room: Room, at: AppTest, source: Round, person: str, words: str) -> None:
    """Disabled on the page with the reason in words; and a click that gets through all the same writes nothing."""
    at.button_group[0].set_value("Approve").run()
    assert at.button(key="prepare").disabled and words in reason(at)
    before = room.desk.tree()
    with pytest.raises(CountersignError):
        signing_actions.prepare(room.desk.workspace, source, room.desk.assess(source), person, "approve", "", room.desk.registry, room.now)
    assert room.desk.tree() == before


def test_self_review(room: Room, source: Round) -> None:
    at = room.open(source, "worker-curator-01")
    assert "nobody approves their own round" in read(at, "proposer")
    refused_without_a_trace(room, at, source, "worker-curator-01", "nobody approves their own round")


def test_self_review_under_an_alias(open_to_all: tuple[Room, Round]) -> None:
    """The registry says that ben@example.org is the proposer's own second name."""
    room, source = open_to_all
    curator = Actor("worker-curator-01", aliases=("curator-a", "ben@example.org"), private=room.desk.curator.private)
    room.desk.write_registry(curator, room.desk.verifier)
    at = room.open(source)
    assert "ben@example.org" not in at.selectbox(key="signing_as").options
    at.selectbox(key="signing_as").set_value("worker-curator-01").run()
    refused_without_a_trace(room, at, source, "ben@example.org", "nobody approves their own round")


def test_a_round_that_names_another_reviewer(room: Room, source: Round) -> None:
    at = room.open(source, "ben@example.org")
    refused_without_a_trace(room, at, source, "ben@example.org", "The round names worker-verifier-02 as its reviewer")


def test_a_reviewer_whose_entry_expired(room: Room, source: Round) -> None:
    verifier = Actor(VERIFIER, roles=("reviewer",), extra='expires = "2026-02-01T00:00:00Z"', private=room.desk.verifier.private)
    room.desk.write_registry(room.desk.curator, verifier)
    refused_without_a_trace(room, room.open(source, VERIFIER), source, VERIFIER, "before it expired on 2026-02-01T00:00:00Z")


def test_a_person_who_changes_between_the_steps(open_to_all: tuple[Room, Round]) -> None:
    room, source = open_to_all
    at = prepare(room.open(source, VERIFIER))
    at.selectbox(key="you_are").set_value("ben@example.org").run()
    assert "prepare again" in read(at, "state-again") and "another_person" in read(at, "error-sign-off")
    assert prepared_digest(at, source) is None and len(room.entries()) == 1


# what ends a prepared statement

def test_a_statement_expires_while_the_page_is_open(room: Room, source: Round) -> None:
    at = prepare(room.open(source, VERIFIER))
    room.wait(900)
    assert "0 s left" in read(at.run(), "countdown")                           # the last second still counts
    room.wait(1)
    at.run()
    assert "prepare again" in read(at, "state-again") and "statement_expired" in read(at, "error-sign-off")
    assert at.button(key="prepare") and len(room.entries()) == 1


def test_a_statement_expires_between_drawing_and_click(room: Room, source: Round) -> None:
    at = prepare(room.open(source, VERIFIER))
    at.text_input(key="passphrase").set_value(PASSPHRASE)
    room.wait(901)
    at.button(key="sign").click().run()
    assert "statement_expired" in read(at, "error-sign-off") and "prepare again" in read(at, "state-again")
    assert len(room.entries()) == 1


def test_the_round_changes_between_prepare_and_sign(room: Room, source: Round) -> None:
    at = prepare(room.open(source, VERIFIER))
    file = source.path / "outcomes.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.chmod(0o644)
    file.write_bytes(data)
    sign(at)
    assert "outcomes.parquet" in read(at, "error-sign-off") and "prepare again" in read(at, "state-again")
    assert len(room.entries()) == 1


def test_the_registry_changes_between_prepare_and_sign(room: Room, source: Round) -> None:
    at = prepare(room.open(source, VERIFIER))
    room.desk.write_registry(room.desk.curator, room.desk.verifier)
    at.run()
    assert "registry_changed" in read(at, "error-sign-off") and prepared_digest(at, source) is None
    assert len(room.entries()) == 1


def test_somebody_else_decides_first(open_to_all: tuple[Room, Round]) -> None:
    room, source = open_to_all
    at = prepare(room.open(source, VERIFIER))
    room.desk.sign(room.desk.prepare(source, room.desk.ben, "reject", "no"), room.desk.ben)
    before = room.desk.tree()
    sign(at)                                                                   # the page was drawn before
    assert "was rejected by ben@example.org" in read(at, "headline-sign-off")
    assert room.desk.tree() == before
    other = room.open(source, VERIFIER)
    assert "was rejected by ben@example.org" in read(other, "headline-sign-off") and not other.text_input


def test_another_rounds_entry_does_not_make_it_stale(room: Room, source: Round) -> None:
    at = prepare(room.open(source, VERIFIER))
    lock_holdout(room.desk.workspace, b'[{"id":"h1","prompt":"x"}]', "ben@example.org", room.desk.ben, room.desk.registry, room.now)
    sign(at)
    assert [entry.kind for entry in room.entries()] == ["proposal", "registration", "decision"]


# refusals of the engine

def failing_bundle() -> dict[str, object]:
    """The worked example with one of its four canaries lost: sanity retention 3/4 is below 1."""
    return {"sanity_outcomes": {"s-01": False, "s-02": True, "s-03": True, "s-04": True}}


def test_an_engine_refusal_can_only_be_rejected(room: Room) -> None:
    refused = room.desk.round("refused-round", **failing_bundle())
    room.desk.propose(refused)
    at = room.open(refused, VERIFIER)
    assert "refused by the engine: only a rejection can be signed" in read(at, "headline-sign-off")
    assert "1 check does not hold (Sanity retention)" in read(at, "warning-refused") and "cannot be approved" in read(at, "warning-refused")
    assert at.button_group[0].options == ["Reject"] and "Approve is not offered" in read(at, "why-no-approval")
    assert "What you would be rejecting" in read(at, "section-matter")
    before = room.desk.tree()
    with pytest.raises(CountersignError, match="engine_refuses"):
        room.desk.prepare(refused)
    assert room.desk.tree() == before
    sign(prepare(at, "Reject", "a canary is lost"))
    entry = room.entries()[-1]
    assert entry.statement.predicate["decision"] == "reject"
    assert "was rejected by worker-verifier-02" in read(at, "headline-sign-off")
    result = read(at, f"section-verification-{entry.digest}")
    assert "REJECTED" in result and "APPROVED" not in result


def test_rejected_before(room: Room, source: Round) -> None:
    sign(prepare(room.open(source, VERIFIER), "Reject", "five items prove nothing"))
    again = room.desk.round("second-try")                                      # another id, the same pairs
    room.desk.propose(again)
    at = room.open(again, VERIFIER)
    assert "Rejected before by worker-verifier-02: five items prove nothing" in read(at, "warning-earlier-0")
    assert links(at, "warning-earlier-0")["entry 1"] == ("ledger", {"entry": "1"})
    assert "rejected before by worker-verifier-02" in read(prepare(at), "sign-warning-1")


def test_an_incomplete_round(room: Room, tmp_path: Path) -> None:
    folder = tmp_path / "calibration"
    folder.mkdir()
    (folder / "round.json").write_text(json.dumps({"schema_version": 1, "round_id": "calibration", "proposers": ["worker-curator-01"]}))
    record = {"judge_id": "j", "case_id": "c", "rubric_approved": True, "verifier_passed": True}
    (folder / "judge_records.jsonl").write_text(json.dumps(record) + "\n")
    incomplete = room.desk.workspace.round(ingest(folder, room.desk.workspace, created_at="2026-01-06T12:00:00Z", now=room.now).digest)
    room.desk.propose(incomplete)
    at = room.open(incomplete, VERIFIER)
    assert "the round lacks pairs, holdout, outcomes, canaries" in read(at, "warning-refused")
    assert at.button_group[0].options == ["Reject"]
    sign(prepare(at, "Reject"))
    entry = room.entries()[-1]
    assert "refusal record:" in read(at, f"section-receipt-{entry.digest}") and "incomplete_round" in read(at, f"section-receipt-{entry.digest}")


# grids

def other_grid(**changes: str) -> Grid:
    document = json.loads(default_grid().canonical)
    document |= {"name": "strict", "version": 2}
    for key, value in changes.items():
        document["keys"][key]["value"] = value
    return grid_from_document(document)


def test_keys_of_the_grid_that_differ(room: Room, source: Round) -> None:
    at = room.open(source, VERIFIER)
    assert "Every key has the value of the default grid." in read(at, "section-grid")
    grid = other_grid(max_length_ratio="2.5")
    accept_grid(room.desk.workspace, grid, "ben@example.org", room.desk.registry, now=room.now)
    later = room.desk.round("later")
    room.desk.propose(later, grid=grid)
    at = room.open(later, VERIFIER)
    assert table(at, "section-grid") == [["max_length_ratio", "2.5", "1.8"]]
    assert read(at, "section-grid").count("max_length_ratio 2.5 1.8") == 2     # against the default, and against the round before
    assert "Round worked-example" in read(at, "section-grid")
    assert "strict, version 2" in read(at, "section-facts")
    sign(prepare(at))
    assert room.entries()[-1].statement.predicate["grid_digest"] == grid.digest


def test_a_grid_that_is_no_longer_accepted(room: Room) -> None:
    grid = other_grid(max_length_ratio="2.5")
    accept_grid(room.desk.workspace, grid, "ben@example.org", room.desk.registry, now=room.now)
    later = room.desk.round("later")
    room.desk.propose(later, grid=grid)
    room.desk.workspace.grids_file.unlink()
    at = room.open(later, VERIFIER)
    assert "no longer accepted" in read(at, "state-stale") and not at.button_group


# other states

def test_not_proposed_names_who_must_propose(room: Room) -> None:
    fresh = room.desk.round("fresh")
    at = room.open(fresh, VERIFIER)
    assert "is not proposed yet" in read(at, "headline-sign-off")
    assert "worker-curator-01 has to sign the proposal first" in read(at, "state-not-proposed")
    assert f"countersign propose {fresh.digest[:12]}" in read(at, "state-not-proposed") and not at.button_group


def test_no_ledger_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_desk(tmp_path / "first")
    source = made.round()
    room = room_of(made, tmp_path / "copy", monkeypatch)
    assert "is not proposed yet" in read(room.open(source, VERIFIER), "headline-sign-off")


def test_nobody_is_enrolled(room: Room, source: Round) -> None:
    room.desk.workspace.registry_file.unlink()
    at = room.open(source)
    assert "Nobody is enrolled" in read(at, "headline-sign-off") and "countersign keygen" in read(at, "state-nobody")


def test_a_registry_that_does_not_load(room: Room, source: Round) -> None:
    room.desk.workspace.registry_file.write_text("registry_version = 1\n[persons")
    at = room.open(source)
    assert not at.exception and "keeper of the registry" in read(at)
    assert not at.button_group


def test_a_broken_ledger(room: Room, source: Round) -> None:
    file = room.desk.workspace.ledger_file
    file.write_bytes(file.read_bytes().replace(b"payloadType", b"payloadTypo", 1))
    at = room.open(source, VERIFIER)
    assert "the ledger cannot be read" in read(at, "headline-sign-off") and "keeper of the ledger" in read(at, "error-ledger")
    assert not at.button_group and not at.text_input


def test_awaiting_others(open_to_all: tuple[Room, Round], monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid that asks for two approvals does not exist yet; the page is ready for one."""
    room, source = open_to_all
    monkeypatch.setattr(loaders, "required_approvals", lambda grid: 2)
    at = sign(prepare(room.open(source, VERIFIER)))
    assert "You approved worked-example" in read(at, "headline-sign-off")
    assert "Awaiting others: 1 of 2 approvals." in read(at, "state-others")
    other = room.open(source, "ben@example.org")
    assert "awaits your decision, 1 of 2 approvals" in read(other, "headline-sign-off")


def test_a_witnessed_holdout(room: Room) -> None:
    items = json.loads(BUNDLE.read_bytes())["holdout_suite"]
    lock_holdout(room.desk.workspace, json.dumps(items).encode(), "ben@example.org", room.desk.ben, room.desk.registry, room.now)
    later = room.desk.round("witnessed")
    room.desk.propose(later)
    at = room.open(later, VERIFIER)
    assert "witnessed: ledger entry 1, before this proposal" in read(at, "section-facts")
    assert "witnessed: ledger entry 1, before this proposal" in read(prepare(at), "section-bound")


def test_no_two_widgets_or_sheets_share_a_key(room: Room, source: Round) -> None:
    at = room.open(source, VERIFIER)
    for step in (lambda: at, lambda: prepare(at), lambda: sign(at)):
        keys = sorted(node.key for node in step().get("bidi_component"))
        assert len(keys) > 3 and not [key for key, group in itertools.groupby(keys) if len(list(group)) > 1]


def test_the_reasons_in_words_are_the_cores(room: Room) -> None:
    """``in_words`` repeats expected, got and remedy of the error, so the page and the command line say the same."""
    with pytest.raises(CountersignError) as caught:
        Registry.from_bytes(b"registry_version = 2\n")
    error = caught.value
    assert error.expected in signing_rules.in_words(error) and error.got in signing_rules.in_words(error)


def test_figures_that_somebody_edited_are_not_prepared(room: Room) -> None:
    """The engine refuses this round; the stored assessment says promote, with a digest beside it that fits."""
    source = room.desk.round("edited", preregistered_holdout_sha256="0" * 64)
    room.desk.propose(source)
    folder = room.desk.assess(source).folder
    document = json.loads((folder / "assessment.json").read_bytes()) | {"verdict": PROMOTE_AWAITING}
    data = canonical_bytes(document)
    for name, content in (("assessment.json", data), ("assessment.sha256", f"{sha256_hex(data)}  assessment.json\n".encode())):
        (folder / name).chmod(0o644)
        (folder / name).write_bytes(content)
    at = prepare(room.open(source, VERIFIER))
    assert not at.exception and "assessment_changed" in said(at)
    assert not list(room.desk.workspace.prepared_dir.glob("*/statement.json"))
