"""What a decision of versions 2 and 3 says of its evidence: computed again and compared, or kept as it was seen."""
from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support_desk import Desk, desk
from support_signing import COVERAGE, NOW, append, as_version_1, as_version_2, rules_of

from core.canonical import canonical_bytes
from core.errors import CountersignError, ReceiptError
from core.gates.assessment import assess
from core.gates.exposure_file import EXPOSURE_FILE, read_looks
from core.grid import default_grid, shipped_grids
from core.rounds.folder import Round
from core.sampling import Review
from core.sampling.draw import Population
from core.signing.coverage import Opened
from core.signing.evidence import EvidenceStore
from core.signing.export import Export, make_export
from core.signing.grids import AcceptedGrids
from core.signing.lost_looks import lost_looks
from core.signing.signoff import prepare
from core.signing.statement import Statement, build_statement
from core.signing.verify import Verification, verify_export
from core.signing.words import evidence_sentences, exposure_sentences, sampling_sentence, warnings

FIRST_GRID = next(grid for grid in shipped_grids().values() if grid.schema_version == 1)


@dataclass
class Signed:
    """A round that ben decided by a statement of the test's making, signed and appended as it is."""

    desk: Desk
    source: Round
    export: Export

    def verify(self) -> Verification:
        return verify_export(self.export, self.desk.registry, self.source, self.desk.ledger.read(), AcceptedGrids.of(self.desk.workspace))


def signed(folder: Path, change: Callable[[Statement], Statement] = lambda statement: statement, **changes: Any) -> Signed:
    d = desk(folder)
    source = d.round(**({"reviewer_id": ...} | changes))
    d.propose(source)
    prepared = d.prepare(source, d.ben, comment="read")
    evidence = EvidenceStore.beside(d.ledger.file)
    evidence.put({name: (prepared.folder / name).read_bytes() for name in ("receipt.json", "admitted_pairs.json")})
    entry = append(d.ledger, change(prepared.statement), d.ben, rules_of(d.registry, NOW))
    return Signed(d, source, make_export(d.ledger.read(), entry, evidence))


def with_member(name: str, path: tuple[Any, ...], value: Any) -> Callable[[Statement], Statement]:
    """A statement whose sub-object says something else at one place."""
    def change(statement: Statement) -> Statement:
        member = copy.deepcopy(statement.predicate[name])
        holder = member
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = value
        return build_statement("decision", {**statement.predicate, name: member})
    return change


# what is signed


def test_the_statement_holds_the_strength_that_the_assessment_shows(tmp_path: Path) -> None:
    d = desk(tmp_path)
    source = d.round()
    d.propose(source)
    predicate = d.prepare(source).statement.predicate
    assert canonical_bytes(predicate["strength"]) == canonical_bytes(dict(d.assess(source).strength))
    judge = predicate["strength"]["judges"][0]
    assert [check["text"] for check in judge["checks"] if check["name"] == "false_positive_rate"] == ["meets, not proven: needs 56 more failed cases"]
    assert predicate["coverage"].keys() == {"version", "exposure", "sampling", "opened", "drift", "disputes"}
    assert predicate["coverage"]["opened"] is None


def test_it_verifies_and_says_what_was_compared(tmp_path: Path) -> None:
    case = signed(tmp_path)
    result = case.verify()
    assert (result.outcome, result.exit_code) == ("APPROVED", 0)
    said = dict(result.checks)["recomputed"]
    assert said.startswith("receipt.json, the admitted pairs, the reason table and the strength of evidence are byte for byte")


def test_a_round_under_the_first_grid_verifies_too(tmp_path: Path) -> None:
    d = desk(tmp_path)
    source = d.round()
    d.propose(source, grid=FIRST_GRID)
    prepared = prepare(d.workspace, source, d.assess(source, FIRST_GRID), d.verifier.id, "approve", "", d.registry, NOW)
    entry = d.sign(prepared).entry
    assert entry.statement.predicate["strength"]["keys_off"] == ["evidence_confidence", "wanted_power", "wanted_effect"]
    export = make_export(d.ledger.read(), entry, EvidenceStore.beside(d.ledger.file))
    assert verify_export(export, d.registry, source, d.ledger.read(), AcceptedGrids.of(d.workspace)).outcome == "APPROVED"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("checks", 1, "status"), "proven"), (("checks", 1, "text"), "proven: at most 1 %"), (("checks", 2, "n"), 500),
        (("judges", 0, "checks", 2, "more"), None), (("judges", 0, "kappa", "value"), 0.751), (("judges", 0, "paradox"), "None."),
        (("holdout", "exact", "value"), 0.049), (("holdout", "sentence"), "candidate beats baseline"), (("holdout", "standing"), "shown better"),
        (("holdout", "gaps"), []), (("confidence",), "0.99"), (("keys_off",), ["wanted_power"]), (("no_holdout",), "not supplied"), (("judges",), []),
        (("judges", 0, "evidence", 0, "text"), "No position bias."), (("judges", 0, "slices_left_out"), 5), (("holdout", "no_slices"), None),
        (("no_behaviours",), None),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_strength_that_the_engine_does_not_compute_is_refused_with_7(tmp_path: Path, path: tuple[Any, ...], value: Any) -> None:
    case = signed(tmp_path, with_member("strength", path, value))
    with pytest.raises(CountersignError) as caught:
        case.verify()
    assert (caught.value.code, caught.value.exit_code) == ("recomputed_differently", 7)
    assert caught.value.where is not None and caught.value.where.field == "strength"


def test_coverage_is_as_seen_and_never_computed_again(tmp_path: Path) -> None:
    """Another number of looks than the record holds: that is what the signer saw, and the record moves on anyway."""
    case = signed(tmp_path, with_member("coverage", ("exposure", "looks"), 7))
    assert case.verify().outcome == "APPROVED"
    (case.desk.workspace.root / EXPOSURE_FILE).unlink()
    assert case.verify().outcome == "APPROVED"


def test_version_2_is_computed_in_its_own_words_and_compared(tmp_path: Path) -> None:
    """An engine that writes version 3 still computes what version 2 says, and refuses what it does not."""
    result = signed(tmp_path / "right", as_version_2).verify()
    assert result.outcome == "APPROVED" and "the strength of evidence are byte for byte" in dict(result.checks)["recomputed"]

    def wrong(statement: Statement) -> Statement:
        return as_version_2(with_member("strength", ("holdout", "sentence"), "candidate beats baseline")(statement))

    with pytest.raises(CountersignError) as caught:
        signed(tmp_path / "wrong", wrong).verify()
    assert (caught.value.code, caught.value.exit_code) == ("recomputed_differently", 7)


def test_an_earlier_version_verifies_and_says_that_it_holds_no_strength(tmp_path: Path) -> None:
    case = signed(tmp_path, as_version_1)
    result = case.verify()
    assert (result.outcome, result.exit_code) == ("APPROVED", 0)
    assert dict(result.checks)["recomputed"].endswith("; an earlier version of the statement, without strength of evidence")
    assert evidence_sentences(case.export.decision_statement.predicate) == []


def test_the_rest_of_an_earlier_version_is_still_compared(tmp_path: Path) -> None:
    def change(statement: Statement) -> Statement:
        table = dict(statement.predicate["reason_table"]) | {"admitted": 3, "in": 6}
        return as_version_1(build_statement("decision", {**statement.predicate, "reason_table": table}))

    with pytest.raises(CountersignError) as caught:
        signed(tmp_path, change).verify()
    assert caught.value.exit_code == 7


def test_verifying_is_no_look(tmp_path: Path) -> None:
    case = signed(tmp_path)
    before = read_looks(case.desk.workspace)
    case.verify()
    assert read_looks(case.desk.workspace) == before


# coverage


def test_a_decision_cannot_be_prepared_without_its_look(tmp_path: Path) -> None:
    """An assessment that was computed beside the workspace is recorded when somebody prepares to sign it."""
    d = desk(tmp_path)
    source = d.round()
    d.propose(source)
    beside = tmp_path / "beside"
    beside.mkdir()
    computed = assess(source, default_grid(), beside)
    assert not (d.workspace.root / EXPOSURE_FILE).exists()
    prepared = prepare(d.workspace, source, computed, d.verifier.id, "approve", "", d.registry, NOW)
    exposure = prepared.statement.predicate["coverage"]["exposure"]
    assert (exposure["decided"], exposure["look"], exposure["record"]["lines"]) == (True, 1, 1)


def test_earlier_looks_are_in_the_statement_and_in_its_words(tmp_path: Path) -> None:
    d = desk(tmp_path)
    refused = d.round("refused", sanity_outcomes={})
    d.assess(refused)
    source = d.round()
    d.propose(source)
    prepared = d.prepare(source)
    exposure = prepared.statement.predicate["coverage"]["exposure"]
    assert (exposure["look"], exposure["looks"], exposure["full"], exposure["fresh"]) == (2, 1, 1, 0)
    assert exposure["earlier"] == [{"round_id": "refused", "round_digest": refused.digest, "verdict": "REFUSE", "shared": 5}]
    assert (exposure["budget"]["now"], exposure["budget"]["spent"], exposure["budget"]["left"]) == (0.0025, 0.005, 0.045)
    said = prepared.sentences
    assert "1 earlier round looked at these holdout items (at up to 5 of the 5 at once; none is fresh): this is look 2." in said
    assert "Regressions: meets, not proven: needs 54 more items." in said
    assert any("no result on 5 items can reach p < .05" in line for line in said)
    assert "The reviewer judged no sample of the 2 admitted pairs." in said


def test_the_gain_is_held_against_what_its_look_may_use(tmp_path: Path) -> None:
    """.05 over 20 looks leaves .0025 a look: an exact p of 1/512 = .00195 is within it, one of 1/256 = .0039 is not."""
    d = desk(tmp_path)
    d.assess(d.round("earlier"))
    source = d.round()
    d.propose(source)
    predicate = d.prepare(source).statement.predicate
    assert "The gain's exact p = 1 is not within the 0.0025 that this look may use." in exposure_sentences(
        predicate["strength"], predicate["coverage"]["exposure"])
    for value, said in ((1 / 512, "p = .002 is within the 0.0025"), (1 / 256, "p = .0039 is not within the 0.0025")):
        strength = copy.deepcopy(predicate["strength"])
        strength["holdout"]["tested"]["p"]["value"] = value
        assert any(f"exact {said}" in line for line in exposure_sentences(strength, predicate["coverage"]["exposure"]))
    first = d.round("alone", holdout_suite=[{"id": "h-01", "prompt": "Alone."}], baseline_outcomes={"h-01": True}, candidate_outcomes={"h-01": True},
                    preregistered_holdout_sha256="0" * 64, reviewer_id=...)
    d.propose(first)
    assert not any("may use." in line for line in d.prepare(first, d.ben, choice="reject").sentences)


def test_what_the_reviewer_sampled_is_in_the_statement(tmp_path: Path) -> None:
    d = desk(tmp_path)
    source = d.round()
    d.propose(source)
    computed = d.assess(source)
    review = Review(d.workspace, Population.of(computed), computed.grid_digest, d.verifier.id)
    sample = review.start(default_grid(), "fixed", NOW, "00" * 16)
    while (one := review.sample()) is not None and one.next_pair is not None:
        review.judge(one.next_pair, "first", NOW)
    prepared = d.prepare(source)
    sampling = prepared.statement.predicate["coverage"]["sampling"]
    assert (sampling["seed"], sampling["judged"], sampling["population"]) == (sample.start.seed, 2, 2)
    line = next(line for line in prepared.sentences if line.startswith("The reviewer judged"))
    assert line.startswith("The reviewer judged 2 of the 2 admitted pairs blind")
    # the first answer was preferred both times: as often a defect as the chosen answer stood second
    worse = sum(sample.first(pair_id) == "rejected" for pair_id in sample.order)
    said = {0: "disagree on 0 pairs", 1: "disagree on 1 pair;", 2: "disagree on 2 pairs"}[worse]
    assert said in line and "verifier" not in line.split(said)[0]
    # the colleague sampled nothing
    other = d.round("other", reviewer_id=...)
    d.propose(other)
    assert d.prepare(other, d.ben).statement.predicate["coverage"]["sampling"]["state"] == "not_started"


def test_the_sentence_on_a_sample_keeps_engine_and_verifier_apart() -> None:
    """Two defects disagree with the engine's choice; kappa is against the verifier, -3/4 or undefined with its reason."""
    sampling = COVERAGE["sampling"] | {"defects": 2, "disagreements": {"count": 2, "pair_ids": ["p1", "p2"], "left_out": 0}}
    said = sampling_sentence(sampling)
    assert said.endswith("Reviewer and engine disagree on 2 pairs; kappa of reviewer and verifier −0.75.")
    kappa = {"numerator": 0, "denominator": 0, "value": None, "undefined": "one class"}
    assert sampling_sentence(sampling | {"kappa": kappa}).endswith("kappa of reviewer and verifier undefined (one class).")


def test_what_was_opened_is_kept_as_seen(tmp_path: Path) -> None:
    d = desk(tmp_path)
    source = d.round()
    d.propose(source)
    for opened, said in (
        (Opened(("Overview", "Holdout"), ("Sample",)), "the reviewer had opened Overview, Holdout; not opened: Sample."),
        (Opened(("Overview",), ()), "the reviewer had opened Overview, which is every page of evidence."),
        (Opened((), ("Overview",)), "the reviewer had opened no page of evidence; not opened: Overview."),
    ):
        prepared = d.prepare(source, opened=opened)
        assert prepared.statement.predicate["coverage"]["opened"] == opened.as_dict()
        assert [line for line in prepared.sentences if line.endswith(said)]
    assert not [line for line in d.prepare(source).sentences if "had opened" in line]      # the command line has no such session


@pytest.mark.parametrize("value", [
    [], {"pages": []}, {"pages": [], "not_opened": [""]}, {"pages": [], "not_opened": [], "x": 1}, {"pages": ["x" * 1000], "not_opened": []},
])
def test_another_form_of_what_was_opened_is_refused(tmp_path: Path, value: Any) -> None:
    d = desk(tmp_path)
    source = d.round()
    d.propose(source)
    statement = d.prepare(source).statement
    with pytest.raises(ReceiptError):
        with_member("coverage", ("opened",), value)(statement)


def test_a_budget_that_is_spent_is_a_warning(tmp_path: Path) -> None:
    d = desk(tmp_path)
    source = d.round()
    d.propose(source)
    statement = d.prepare(source).statement
    budget = dict(statement.predicate["coverage"]["exposure"]["budget"]) | {"look": 21, "exhausted": True}
    spent = with_member("coverage", ("exposure", "budget"), budget)(statement)
    assert warnings(statement, ()) != warnings(spent, ())
    assert "This is look 21 at the holdout: the error budget of the 20 planned looks is spent." in warnings(spent, ())


def test_a_record_that_was_shortened_after_a_signature_is_noticed(tmp_path: Path) -> None:
    d = desk(tmp_path)
    d.assess(d.round("first", sanity_outcomes={}))
    source = d.round()
    d.propose(source)
    d.sign(d.prepare(source))
    file = d.workspace.root / EXPOSURE_FILE
    whole = file.read_bytes()
    assert lost_looks(d.workspace, d.ledger.read()) == []
    d.assess(d.round("later"))
    assert lost_looks(d.workspace, d.ledger.read()) == []                   # it grew, and begins as it was
    first, second = whole.splitlines(keepends=True)
    for tampered in (b"", first, second, second + first, whole.replace(b'"verdict":"REFUSE"', b'"verdict":"PROMOTE"')):
        file.write_bytes(tampered)
        (line,) = lost_looks(d.workspace, d.ledger.read())
        assert line.startswith("the record of looks at holdouts is not the one that ledger entry 1 was signed against (2 lines then")
    file.unlink()
    another = d.round("another", reviewer_id=...)
    d.propose(another)
    assert any("looks were removed or changed" in line for line in d.prepare(another, d.ben).warnings)


def test_the_strength_of_a_judge_is_small(tmp_path: Path) -> None:
    """What is signed has a limit of 4 MB: a thousand judges still fit."""
    d = desk(tmp_path)
    assert len(canonical_bytes(d.assess(d.round()).strength["judges"][0])) < 4000


def test_prepared_again_after_a_look_says_so(tmp_path: Path) -> None:
    """Another round decided between two preparations: each statement keeps what it saw."""
    d = desk(tmp_path)
    source = d.round()
    d.propose(source)
    first = d.prepare(source)
    d.assess(d.round("between"))
    second = d.prepare(source, now=NOW + timedelta(minutes=1))
    seen = [one.statement.predicate["coverage"]["exposure"] for one in (first, second)]
    assert [(one["look"], one["later"], one["record"]["lines"]) for one in seen] == [(1, 0, 1), (1, 1, 2)]
    assert d.sign(first).entry.statement.predicate["coverage"]["exposure"]["later"] == 0


def test_an_export_with_another_strength_is_another_envelope(tmp_path: Path) -> None:
    """The signature covers it: one changed word, and the envelope does not verify."""
    case = signed(tmp_path)
    payload = case.export.decision.payload
    changed = payload.replace(b"needs 56 more failed cases", b"needs 55 more failed cases")
    assert changed != payload
    with pytest.raises(CountersignError) as caught:
        replace(case, export=replace(case.export, decision=replace(case.export.decision, payload=changed))).verify()
    assert caught.value.exit_code == 5
