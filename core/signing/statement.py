"""What is signed: an in-toto Statement v1 in RFC 8785 bytes, of one of three kinds.

===============  ==================================================  ==================
kind             says                                                signed by
===============  ==================================================  ==================
``registration``  this holdout existed at this place of the ledger    any enrolled person
``proposal``      these persons propose this round under this grid    one of its proposers
``decision``      this person approves or rejects that proposal       a reviewer
===============  ==================================================  ==================

A predicate has a version, and its type names it. A decision of version 1 says nothing about its evidence; version 2 adds what
the evidence can prove (``strength``) and what its signer saw besides the round (``coverage``); version 3 keeps more of both. All are
read; the newest is written.

The bytes are made once, by ``build_statement``, and everything afterwards reads those bytes: ``parse_statement`` checks
that they are canonical, then the exact schema, then that the statement agrees with itself. Its subjects follow from the
predicate, so the two cannot disagree. Who may sign it, and whether it still holds, is decided in ``admission.py``.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, cast

from core.canonical import canonical_bytes, canonical_digest, parse_canonical, sha256_hex
from core.errors import ReceiptError, Where
from core.gates.receipt import RECEIPT_FIELDS
from core.persons.person import Role
from core.schemas import REASONS
from core.settings import SETTINGS
from core.signing import schema
from core.signing.evidence_schema import COVERAGE_2, COVERAGE_3, STRENGTH_2, STRENGTH_3

Kind = Literal["registration", "proposal", "decision"]

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
DECISION_1, DECISION_2, DECISION_3 = "urn:countersign:decision:v1", "urn:countersign:decision:v2", "urn:countersign:decision:v3"
PREDICATE_TYPES: Final[Mapping[str, Kind]] = {
    "urn:countersign:registration:v1": "registration", "urn:countersign:proposal:v1": "proposal", DECISION_1: "decision", DECISION_2: "decision",
    DECISION_3: "decision",
}
"""Every predicate type that is read. A new version is a new type; statements of an earlier one stay readable as they are."""
WRITTEN_TYPES: Final[Mapping[Kind, str]] = {kind: predicate_type for predicate_type, kind in PREDICATE_TYPES.items()}
"""The newest type of each kind: what is written, and whose ``strength`` this engine computes."""

HOLDOUT_SUBJECT, ROUND_SUBJECT = "holdout.json", "round.json"
RECEIPT_SUBJECT, REFUSAL_SUBJECT, ADMITTED_SUBJECT = "receipt.json", "refusal.json", "admitted_pairs.json"
CANDIDATE_SUBJECT: Final = "candidate"

SIGNED_RECEIPT_FIELDS: Final = tuple(name for name in RECEIPT_FIELDS if name != "admitted_pair_ids")
"""The 16 fields that the predicate repeats; a million ids would not fit, so they are in the receipt file alone."""

_SIGNER: Final[Mapping[Kind, str]] = {"registration": "registered_by", "proposal": "proposer", "decision": "reviewer"}
_ROLE: Final[Mapping[Kind, Role | None]] = {"registration": None, "proposal": "proposer", "decision": "reviewer"}

_NAME: Final = schema.text(limit=SETTINGS["text"]["id_characters"])
_COUNTS: Final = ("in", "admitted", "rejected", "held", "quarantined")
_BOOLEANS: Final = ("calibrated_judge_passed", "holdout_lock_valid", "promote_round")
_INTEGERS: Final = tuple(name for name in SIGNED_RECEIPT_FIELDS if name.endswith("_count") or name == "uncalibrated_synthetic_admitted")

_COMMON: Final[Mapping[str, schema.Check]] = {
    "registry_digest": schema.digest, "ledger": schema.record({"origin": _NAME, "size": schema.integer, "root": schema.digest}),
    "issuedAt": schema.z_time, "expiresAt": schema.z_time, "nonce": schema.hexadecimal,
}
_LOCK: Final = schema.nullable(schema.record({
    "sha256": schema.text(empty=True),
    "registered_at": schema.nullable(schema.text(empty=True)), "registered_by": schema.nullable(schema.text(empty=True)),
}))
_ROUND: Final[Mapping[str, schema.Check]] = {
    "round_id": _NAME, "round_digest": schema.digest, "grid_digest": schema.digest, "holdout_lock": _LOCK,
    "holdout_digest": schema.nullable(schema.digest), "candidate_name": schema.text(empty=True), "candidate_digest": schema.nullable(schema.digest),
    "baseline_name": schema.text(empty=True), "baseline_digest": schema.nullable(schema.digest), "proposers": schema.listed(_NAME, empty=False),
}
_REFERENCE: Final = schema.record({"index": schema.integer, "envelope_sha256": schema.digest})
_LITERAL_GATE: Final = schema.record({
    "passed": schema.boolean, "policy_digest": schema.digest, "files": schema.integer,
    "violations": schema.listed(schema.record({
        "path": schema.text(), "line": schema.integer, "column": schema.integer, "literal": schema.text(), "enclosing": schema.text(),
        "reason": schema.text(),
    })),
})
_RECEIPT: Final = schema.record({
    name: schema.boolean if name in _BOOLEANS else schema.integer if name in _INTEGERS else schema.number for name in SIGNED_RECEIPT_FIELDS
})
REFUSAL_SCHEMA: Final = schema.record({
    "schema_version": schema.constant(1), "verdict": schema.constant("REFUSE"),
    "reasons": schema.listed(schema.record({"code": schema.text(), "detail": schema.text(empty=True)}), empty=False),
})
_DECISION: Final[Mapping[str, schema.Check]] = {
    **_COMMON, **_ROUND, "decision": schema.constant("approve", "reject"), "reviewer": _NAME, "identified_by": schema.constant("registered_key"),
    "proposal_sha256": schema.digest, "holdout_witness": schema.nullable(_REFERENCE), "engine_version": _NAME, "code_digest": schema.digest,
    "literal_gate": _LITERAL_GATE, "receipt_sha256": schema.nullable(schema.digest), "receipt": schema.nullable(_RECEIPT),
    "refusal": schema.nullable(REFUSAL_SCHEMA), "admitted_pairs_sha256": schema.digest,
    "reason_table": schema.record({**dict.fromkeys(_COUNTS, schema.integer), "reasons": schema.record(dict.fromkeys(REASONS, schema.integer))}),
    "comment": schema.text(limit=SETTINGS["signing"]["comment_characters"], empty=True),
}
_EMPTY: Final = schema.record({"version": schema.constant(1)})
_PREDICATES: Final[Mapping[str, schema.Check]] = {
    WRITTEN_TYPES["registration"]: schema.record({**_COMMON, "holdout_sha256": schema.digest, "items": schema.integer, "registered_by": _NAME}),
    WRITTEN_TYPES["proposal"]: schema.record({
        **_COMMON, **_ROUND, "proposer": _NAME, "pairs_digest": schema.nullable(schema.digest), "supersedes": schema.listed(_REFERENCE),
    }),
    DECISION_1: schema.record({**_DECISION, "strength": _EMPTY, "coverage": _EMPTY}),
    DECISION_2: schema.record({**_DECISION, "strength": STRENGTH_2, "coverage": COVERAGE_2}),
    DECISION_3: schema.record({**_DECISION, "strength": STRENGTH_3, "coverage": COVERAGE_3}),
}
_STATEMENT: Final = schema.record({
    "_type": schema.constant(STATEMENT_TYPE), "predicateType": schema.constant(*PREDICATE_TYPES),
    "subject": schema.listed(schema.record({"name": schema.text(), "digest": schema.record({"sha256": schema.digest})}), empty=False),
    "predicate": schema.anything,  # checked by its type's schema once the type is known
})


@dataclass(frozen=True)
class Statement:
    """A validated statement. ``payload``: the bytes that are signed; everything else is read from them."""

    payload: bytes
    predicate_type: str
    predicate: Mapping[str, Any]

    @property
    def kind(self) -> Kind:
        """What it is, whatever the version of its predicate."""
        return PREDICATE_TYPES[self.predicate_type]

    @property
    def is_newest(self) -> bool:
        """Whether its predicate is of the version that this engine writes."""
        return WRITTEN_TYPES[self.kind] == self.predicate_type

    @property
    def has_strength(self) -> bool:
        """Whether a decision says what its evidence can prove, so that it can be computed again."""
        return self.predicate_type in (DECISION_2, DECISION_3)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the payload."""
        return sha256_hex(self.payload)

    @property
    def signer(self) -> str:
        """The id of the person who has to sign it."""
        return cast("str", self.predicate[_SIGNER[self.kind]])

    @property
    def role(self) -> Role | None:
        """The role that person needs; None: any."""
        return _ROLE[self.kind]

    @property
    def round_digest(self) -> str | None:
        """The round it is about; None for a registration."""
        return self.predicate.get("round_digest")

    @property
    def approves(self) -> bool:
        return self.predicate.get("decision") == "approve"


def _subjects(kind: Kind, predicate: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The artefacts a statement is about, from its predicate. A candidate without a digest is no subject."""
    if kind == "registration":
        named = {HOLDOUT_SUBJECT: predicate["holdout_sha256"]}
    elif kind == "proposal":
        named = {ROUND_SUBJECT: predicate["round_digest"]}
    elif predicate["refusal"] is None:
        named = {RECEIPT_SUBJECT: predicate["receipt_sha256"], ADMITTED_SUBJECT: predicate["admitted_pairs_sha256"]}
    else:
        named = {REFUSAL_SUBJECT: canonical_digest(predicate["refusal"]), ADMITTED_SUBJECT: predicate["admitted_pairs_sha256"]}
    if kind != "registration":
        named[CANDIDATE_SUBJECT] = predicate["candidate_digest"]
    return [{"name": name, "digest": {"sha256": value}} for name, value in named.items() if value is not None]


def _check_decision(predicate: Mapping[str, Any]) -> None:
    """The parts of a decision agree with each other."""
    receipt, refusal, table = predicate["receipt"], predicate["refusal"], predicate["reason_table"]
    if (receipt is None) == (refusal is None) or (receipt is None) != (predicate["receipt_sha256"] is None):
        schema.refuse("predicate.receipt", "either a receipt with its digest or a refusal record", None, code="inconsistent_statement")
    if predicate["decision"] == "approve" and (receipt is None or not receipt["promote_round"]):
        schema.refuse("predicate.decision", "a rejection, since the engine refuses the round", "approve", code="approved_refusal")
    if table["in"] != table["admitted"] + table["rejected"] + table["held"] + table["quarantined"]:
        schema.refuse("predicate.reason_table", "in = admitted + rejected + held + quarantined", table, code="counts_do_not_add_up")
    if table["rejected"] != sum(table["reasons"].values()):
        schema.refuse("predicate.reason_table.reasons", "reasons that add up to rejected", table, code="counts_do_not_add_up")
    gate = predicate["literal_gate"]
    if gate["passed"] != (gate["files"] > 0 and not gate["violations"]):
        schema.refuse("predicate.literal_gate.passed", "what its files and violations say", gate["passed"], code="inconsistent_statement")
    if refusal is not None and (codes := [item["code"] for item in refusal["reasons"]]) != sorted(set(codes)):
        schema.refuse("predicate.refusal.reasons", "each code once, sorted", codes, code="inconsistent_statement")


def parse_statement(payload: bytes, *, where: Where | None = None) -> Statement:
    """Read signed bytes: canonical, of the exact schema, in agreement with themselves. Raises ReceiptError naming the member."""
    document = parse_canonical(payload, where=where, error=ReceiptError)
    _STATEMENT(document, "")
    predicate_type, predicate = document["predicateType"], document["predicate"]
    kind = PREDICATE_TYPES[predicate_type]
    _PREDICATES[predicate_type](predicate, "predicate")
    if predicate["issuedAt"] > predicate["expiresAt"]:
        schema.refuse("predicate.expiresAt", f"a time from {predicate['issuedAt']} on", predicate["expiresAt"], code="inconsistent_statement")
    if kind == "decision":
        _check_decision(predicate)
    if document["subject"] != _subjects(kind, predicate):
        schema.refuse("subject", "the artefacts that the predicate names", document["subject"], code="inconsistent_statement")
    return Statement(payload, predicate_type, predicate)


def build_statement(kind: Kind, predicate: Mapping[str, Any]) -> Statement:
    """Make a statement of the newest version: its subjects, its bytes, and the same checks that a reader will make. Raises
    ReceiptError."""
    predicate_type = WRITTEN_TYPES[kind]
    _PREDICATES[predicate_type](dict(predicate), "predicate")
    document = {"_type": STATEMENT_TYPE, "subject": _subjects(kind, predicate), "predicateType": predicate_type, "predicate": dict(predicate)}
    return parse_statement(canonical_bytes(document))
