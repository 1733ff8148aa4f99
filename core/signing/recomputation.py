"""The second half of verifying: the files behind a decision, and the decision computed again from the round under the grid.

Compared byte for byte are the receipt (or refusal record), the list of admitted pairs and the reason table. The literal
gate's result and the code digest are those of the statement, since the verifier's engine may be another version;
``strength`` is computed and compared in the version of the statement; ``coverage`` is never computed again.
"""
from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from core.canonical import canonical_bytes, canonical_digest, sha256_hex
from core.errors import DigestMismatch, RecomputationError, Where
from core.gates.assessment import Assessment
from core.gates.receipt import decide
from core.gates.strength import as_version_2
from core.grid import Grid
from core.persons.registry import Registry
from core.rounds.folder import Round
from core.signing.admission import entry_faults
from core.signing.evidence import check_evidence
from core.signing.export import Export
from core.signing.ledger import LedgerView
from core.signing.propose import round_members
from core.signing.statement import ADMITTED_SUBJECT, RECEIPT_SUBJECT, REFUSAL_SUBJECT
from core.signing.status import pairs_digest, reference, registrations_of

_SAME: Final = "byte for byte what the engine computes from the round under the grid"

Recompute = Callable[[Round, Grid, Mapping[str, Any], str, Path], Assessment]
"""(round, grid, literal-gate result, code digest, empty folder) -> assessment: ``core.gates.assessment.recompute``."""


def check_files(export: Export, source: Round) -> str:
    """Every file has the digest that the statement names for it. Returns what held. Raises DigestMismatch naming the file."""
    predicate = export.decision_statement.predicate
    check_evidence(export.decision_statement, export.evidence)
    if source.digest != predicate["round_digest"]:
        raise DigestMismatch("another_round", expected=f"the round {predicate['round_digest']} that the statement names", got=source.digest,
                             remedy="hand over that round, unchanged", where=Where("round.json"))
    source.verify_files()
    return "receipt, admitted pairs and every file of the round have the digests that were signed"


def check_again(export: Export, source: Round, grid: Grid, view: LedgerView, registry: Registry, recompute: Recompute) -> str:
    """Compute the decision again and compare byte for byte. Returns what held. Raises RecomputationError naming what differs."""
    predicate = export.decision_statement.predicate
    _compare_members(export, source, grid, view, registry)
    with tempfile.TemporaryDirectory(prefix="countersign-") as folder:
        assessment = recompute(source, grid, predicate["literal_gate"], predicate["code_digest"], Path(folder))
        decision, admitted = decide(assessment, predicate["reviewer"], registry), assessment.admitted_pairs_bytes()
    name = RECEIPT_SUBJECT if decision.receipt is not None else REFUSAL_SUBJECT
    if name not in export.evidence:
        _differs(name, "no such document", "one")
    if decision.receipt_bytes != export.evidence[name]:
        _differs(name, sha256_hex(export.evidence[name]), _changed_fields(decision.receipt or decision.refusal or {}, predicate["receipt"] or {}))
    if admitted != export.evidence[ADMITTED_SUBJECT]:
        _differs(ADMITTED_SUBJECT, sha256_hex(export.evidence[ADMITTED_SUBJECT]), sha256_hex(admitted))
    for member, computed in (("reason_table", assessment.reason_table), ("receipt", decision.receipt), ("refusal", decision.refusal)):
        stated = predicate[member]
        relevant = None if computed is None or stated is None else {key: computed.get(key) for key in stated}
        if (computed is None) != (stated is None) or (relevant is not None and canonical_bytes(relevant) != canonical_bytes(stated)):
            _differs(member, "what the statement says", "something else")
    if predicate["decision"] == "approve" and not decision.promote:
        _differs("decision", "approve", "a refusal of the engine")
    statement = export.decision_statement
    if not statement.has_strength:
        return f"{name}, the admitted pairs and the reason table are {_SAME}; an earlier version of the statement, without strength of evidence"
    computed_strength = dict(assessment.strength) if statement.is_newest else as_version_2(assessment.strength, assessment.document)
    if canonical_bytes(computed_strength) != canonical_bytes(predicate["strength"]):
        _differs("strength", canonical_digest(predicate["strength"]), canonical_digest(computed_strength))
    return f"{name}, the admitted pairs, the reason table and the strength of evidence are {_SAME}"


def _compare_members(export: Export, source: Round, grid: Grid, view: LedgerView, registry: Registry) -> None:
    """What both statements say about the round, and who witnessed its holdout."""
    decision, proposal = export.decision_statement.predicate, export.proposal_statement.predicate
    for statement in (decision, proposal):
        for name, computed in round_members(source, grid).items():
            if statement[name] != computed:
                _differs(name, repr(statement[name]), repr(computed))
    if proposal["pairs_digest"] != pairs_digest(source):
        _differs("pairs_digest", str(proposal["pairs_digest"]), str(pairs_digest(source)))
    entry = view.find(export.proposal.digest)
    registered = () if entry is None else registrations_of(view, source.holdout_digest, entry.index)
    faults = entry_faults(LedgerView(view.origin, registered), registry)
    first = next((reference(one) for one in registered if one.index not in faults), None)
    # a witness whom this registry does not know may have been known when it was signed: verify notes it
    if decision["holdout_witness"] not in [first, *(reference(one) for one in registered if one.index in faults)]:
        _differs("holdout_witness", repr(decision["holdout_witness"]), "another witness in the ledger")


def _changed_fields(computed: Mapping[str, Any], stated: Mapping[str, Any]) -> str:
    names = [name for name in stated if canonical_bytes(stated[name]) != canonical_bytes(computed.get(name))]
    return f"another document ({', '.join(names)} differ)" if names else "another document"


def _differs(what: str, stated: str, computed: str) -> None:
    raise RecomputationError(
        "recomputed_differently", expected=f"{what} as signed: {stated}", got=f"recomputed: {computed}", remedy="do not rely on this receipt",
        where=Where(field=what),
    )
