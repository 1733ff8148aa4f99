"""What a reviewer disputes is in the statement that they sign, with the engine's state, whichever way the statement was prepared."""
from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support_desk import Desk, desk
from support_rounds import folder_of
from support_signing import COVERAGE, NOW, sha
from support_strength import ABOUT, judge_rows

from core.canonical import canonical_bytes
from core.errors import ReceiptError, SamplingError
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace
from core.sampling.marks import Kind, Marks
from core.signing.evidence import EvidenceStore
from core.signing.export import make_export
from core.signing.grids import AcceptedGrids
from core.signing.statement import Statement, parse_statement
from core.signing.verify import Verification, verify_export
from core.signing.words import disputes_sentence, evidence_sentences

ADMITTED, TRAP, LONG = "pair-rpo-clean-1", "pair-collapse-trap", "pair-length-bias"


@pytest.fixture
def made(tmp_path: Path) -> Desk:
    return desk(tmp_path)


@pytest.fixture
def source(made: Desk) -> Round:
    found = made.round()
    made.propose(found)
    return found


def mark(made: Desk, source: Round, *given: tuple[Kind, str], person: str | None = None) -> None:
    for kind, pair_id in given:
        Marks(made.workspace, source.digest, person or made.verifier.id).put(kind, pair_id, NOW)


def disputes(statement: Statement) -> Any:
    return statement.predicate["coverage"]["disputes"]


def verified(made: Desk, source: Round, *, signature_only: bool = False) -> Verification:
    ledger = made.ledger.read()
    export = make_export(ledger, ledger.entries[-1], EvidenceStore.beside(made.ledger.file))
    return verify_export(export, made.registry, source, ledger, AcceptedGrids.of(made.workspace), signature_only=signature_only)


# what is signed


def test_disputed_pairs_are_signed_with_their_state(made: Desk, source: Round) -> None:
    """The worked example admits pair-rpo-clean-1 and rejects the trap. The order is that of the marks; what was taken back is none."""
    mark(made, source, ("seen", TRAP), ("disputed", TRAP), ("disputed", LONG), ("seen", ADMITTED), ("disputed", ADMITTED), ("undisputed", LONG))
    prepared = made.prepare(source)
    assert disputes(prepared.statement) == {
        "count": 2, "pairs": [{"pair_id": TRAP, "state": "rejected"}, {"pair_id": ADMITTED, "state": "admitted"}], "left_out": 0, "seen": 2,
        "sha256": sha(f'[["{TRAP}","rejected"],["{ADMITTED}","admitted"]]'),
    }
    line = f"The reviewer disputes 2 pairs: {TRAP} (rejected), {ADMITTED} (admitted); 2 pairs marked as seen."
    assert line in prepared.sentences
    assert made.sign(prepared).entry.statement.payload == prepared.payload


def test_nothing_disputed_is_an_empty_list(made: Desk, source: Round) -> None:
    prepared = made.prepare(source)
    assert disputes(prepared.statement) == {"count": 0, "pairs": [], "left_out": 0, "sha256": sha("[]"), "seen": 0}
    assert "The reviewer disputes no pair; no pair marked as seen." in prepared.sentences
    made.sign(prepared)
    assert not [note for note in verified(made, source).notes if "disputes" in note]


def test_only_the_reviewers_own_marks_on_this_round_count(made: Desk, source: Round) -> None:
    mark(made, source, ("disputed", TRAP), person=made.eva.id)
    mark(made, made.round("another"), ("disputed", TRAP))
    assert disputes(made.prepare(source).statement)["count"] == 0


def test_a_round_without_pairs_has_nothing_to_mark(made: Desk, tmp_path: Path) -> None:
    records = judge_rows("many", tp=9, fp=1, fn=1, tn=4)
    found = folder_of(tmp_path / "judges-only", {"judge_records": records}, about=ABOUT | {"round_id": "judges-only"})
    source = made.workspace.round(ingest(found, made.workspace, now=NOW).digest)
    made.propose(source)
    statement = made.prepare(source, choice="reject").statement
    assert disputes(statement) is None
    assert not [line for line in evidence_sentences(statement.predicate) if "disputes" in line]


def test_a_mark_on_what_is_no_pair_of_the_round_is_kept_without_a_state(made: Desk, source: Round) -> None:
    mark(made, source, ("disputed", "ghost"))
    prepared = made.prepare(source)
    assert disputes(prepared.statement)["pairs"] == [{"pair_id": "ghost", "state": None}]
    assert "The reviewer disputes 1 pair: ghost (not in the round); no pair marked as seen." in prepared.sentences


def test_long_lists_are_named_up_to_a_limit_and_bound_by_a_digest(made: Desk, source: Round) -> None:
    mark(made, source, *(("disputed", f"p{place:03}") for place in range(103)))
    found = disputes(made.prepare(source).statement)
    assert (found["count"], len(found["pairs"]), found["left_out"], found["pairs"][-1]["pair_id"]) == (103, 100, 3, "p099")
    assert found["sha256"] == sha(json.dumps([[f"p{place:03}", None] for place in range(103)], separators=(",", ":")))
    said = disputes_sentence(found)
    assert "103 pairs: p000 (not in the round), " in said and " and 98 more; " in said


def test_marks_that_cannot_be_read_stop_the_preparation(made: Desk, source: Round) -> None:
    mark(made, source, ("disputed", TRAP))
    file = Marks(made.workspace, source.digest, made.verifier.id).file
    file.write_bytes(file.read_bytes() + b"{}\n")
    with pytest.raises(SamplingError) as caught:
        made.prepare(source)
    assert caught.value.code == "broken_line" and not list(made.workspace.prepared_dir.glob("*"))


def test_marks_of_another_process_are_read(made: Desk, source: Round) -> None:
    """What the page wrote before it was stopped is signed afterwards, by whatever is started then."""
    script = (
        "import sys; from datetime import UTC, datetime; from pathlib import Path; from core.rounds.workspace import Workspace; "
        "from core.sampling.marks import Marks; "
        "Marks(Workspace.open(Path(sys.argv[1])), sys.argv[2], sys.argv[3]).put('disputed', sys.argv[4], datetime(2026, 3, 1, tzinfo=UTC))"
    )
    subprocess.run([sys.executable, "-c", script, str(made.workspace.root), source.digest, made.verifier.id, TRAP], check=True)
    again = Desk(Workspace.open(made.workspace.root), made.curator, made.verifier, made.ben, made.eva)
    assert disputes(again.prepare(again.workspace.round(source.digest)).statement)["pairs"] == [{"pair_id": TRAP, "state": "rejected"}]


def test_what_is_marked_after_preparing_is_not_signed(made: Desk, source: Round) -> None:
    """Coverage is as seen: the statement that was shown is the one that is signed, and verifying reads no marks."""
    prepared = made.prepare(source)
    mark(made, source, ("disputed", TRAP))
    assert disputes(made.sign(prepared).entry.statement)["count"] == 0
    assert verified(made, source).outcome == "APPROVED"


def test_verify_notes_what_is_disputed(made: Desk, source: Round) -> None:
    mark(made, source, ("disputed", TRAP))
    made.sign(made.prepare(source))
    note = f"as signed, not computed again: The reviewer disputes 1 pair: {TRAP} (rejected); no pair marked as seen."
    for signature_only in (False, True):
        result = verified(made, source, signature_only=signature_only)
        assert note in result.notes and f"note: {note}" in result.lines()
    assert verified(made, source).outcome == "APPROVED"


def test_a_name_with_hidden_characters_is_visible_in_the_note(made: Desk, source: Round) -> None:
    mark(made, source, ("disputed", "a\nAPPROVED\u202e"))
    made.sign(made.prepare(source))
    (note,) = [note for note in verified(made, source).notes if "disputes" in note]
    assert "\n" not in note and "\u202e" not in note


# what is refused


@pytest.mark.parametrize(("changes", "code"), [
    ({"count": 2}, "counts_do_not_add_up"), ({"left_out": 1}, "counts_do_not_add_up"), ({"count": 0}, "counts_do_not_add_up"),
    ({"pairs": [], "count": 0}, "inconsistent_statement"), ({"sha256": sha("[]")}, "inconsistent_statement"),
    ({"pairs": [{"pair_id": "p2", "state": "admitted"}]}, "inconsistent_statement"),
    ({"pairs": [{"pair_id": "p3", "state": "rejected"}]}, "inconsistent_statement"),
    ({"pairs": [{"pair_id": "p2", "state": "rejected"}] * 2, "count": 2}, "inconsistent_statement"),
    ({"pairs": [{"pair_id": f"p{place}", "state": None} for place in range(101)], "count": 101}, "too_long"),
    ({"pairs": [{"pair_id": "p2", "state": "approved"}]}, "wrong_type"), ({"pairs": [{"pair_id": 2, "state": None}]}, "wrong_type"),
    ({"pairs": [{"pair_id": "p2"}]}, "wrong_fields"), ({"pairs": ["p2"]}, "wrong_type"), ({"pairs": None}, "wrong_type"),
    ({"count": True}, "wrong_type"), ({"seen": -1}, "wrong_type"), ({"seen": None}, "wrong_type"), ({"sha256": None}, "wrong_type"),
    ({"note": "no"}, "wrong_fields"),
])
def test_disputes_that_do_not_agree_with_themselves_are_refused(made: Desk, source: Round, changes: dict[str, Any], code: str) -> None:
    document = json.loads(made.prepare(source).payload)
    document["predicate"]["coverage"] = copy.deepcopy(COVERAGE)
    assert disputes(parse_statement(canonical_bytes(document)))["count"] == 1
    document["predicate"]["coverage"]["disputes"] |= changes
    with pytest.raises(ReceiptError) as caught:
        parse_statement(canonical_bytes(document))
    assert caught.value.code == code
    assert caught.value.where is not None and str(caught.value.where.field).startswith("predicate.coverage.disputes")


@pytest.mark.parametrize("value", [[], {}, "none", 0, False])
def test_another_form_is_refused_and_so_is_a_missing_member(made: Desk, source: Round, value: Any) -> None:
    document = json.loads(made.prepare(source).payload)
    document["predicate"]["coverage"]["disputes"] = value
    with pytest.raises(ReceiptError):
        parse_statement(canonical_bytes(document))
    del document["predicate"]["coverage"]["disputes"]
    with pytest.raises(ReceiptError):
        parse_statement(canonical_bytes(document))
