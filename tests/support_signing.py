"""Persons with keys in memory, a registry of them, and statements about rounds that are only digests: for tests of the ledger."""
from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from core.canonical import canonical_bytes
from core.gates.receipt import RECEIPT_FIELDS
from core.grid import default_grid
from core.persons.publickey import PublicKey, public_key
from core.persons.registry import Registry
from core.schemas import REASONS
from core.signing.admission import Rules, admit
from core.signing.dsse import Envelope, Signature, seal
from core.signing.grids import AcceptedGrids
from core.signing.ledger import Ledger, LedgerEntry, LedgerView
from core.signing.propose import common_members
from core.signing.statement import PAYLOAD_TYPE, Statement, build_statement, parse_statement
from core.signing.status import earlier_decisions, reference

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Actor:
    """A person with a key in memory; signs like any Signer."""

    id: str
    roles: tuple[str, ...] = ("proposer", "reviewer")
    aliases: tuple[str, ...] = ()
    owner: str | None = None
    extra: str = ""
    private: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate, repr=False)

    @property
    def public(self) -> PublicKey:
        return public_key(self.private.public_key().public_bytes_raw())

    def sign(self, message: bytes) -> Signature:
        return Signature(self.public.keyid, self.private.sign(message))

    @property
    def toml(self) -> str:
        group = "persons" if self.owner is None else "agents"
        owner = "" if self.owner is None else f'owner = "{self.owner}"\n'
        return (
            f'[{group}."{self.id}"]\nroles = {list(self.roles)}\naliases = {list(self.aliases)}\n{owner}{self.extra}\n'
            f'[{group}."{self.id}".keys."{self.public.keyid}"]\npublic = "{self.public.openssh}"\n'
        )


def registry_bytes(*actors: Actor) -> bytes:
    return ("registry_version = 1\n" + "".join(actor.toml for actor in actors)).encode()


def registry_of(*actors: Actor) -> Registry:
    return Registry.from_bytes(registry_bytes(*actors))


def rules_of(registry: Registry, now: datetime = NOW, grids: AcceptedGrids | None = None) -> Rules:
    return Rules(registry, AcceptedGrids({}) if grids is None else grids, now)


RECEIPT: dict[str, Any] = {
    name: name in ("calibrated_judge_passed", "holdout_lock_valid", "promote_round") if name.endswith(("passed", "valid", "round")) else 0
    for name in RECEIPT_FIELDS if name != "admitted_pair_ids"
}
REFUSAL = {"schema_version": 1, "verdict": "REFUSE", "reasons": [{"code": "incomplete_round", "detail": "not supplied: pairs"}]}


_INTERVAL: dict[str, Any] = {"lower": 0.25, "upper": 1, "confidence": 0.95, "method": "by hand", "undefined": None}
_NONE: dict[str, Any] = {"value": None, "undefined": "nothing was counted"}
_RATIO: dict[str, Any] = {"numerator": -3, "denominator": 4, "value": -0.75, "undefined": None}
_P: dict[str, Any] = {"value": 0.5, "exact": "1/2", "method": "counted exactly"}
_CHECK: dict[str, Any] = {
    "name": "regressions", "status": "meets, not proven", "text": "meets, not proven: needs 1 more items", "detail": "By hand.", "n": 4,
    "interval": _INTERVAL, "limit": None, "needed": 5, "more": 1, "undefined": None, "flip": {"items": None, "text": "a fact"},
}
_PASSED: dict[str, Any] = {"at_least_one": 0.5, "all": 0.25, "undefined": None}
STRENGTH: dict[str, Any] = {
    "version": 3, "significant_digits": 9, "keys_off": [], "confidence": "0.95", "checks": [_CHECK], "no_holdout": None,
    "judges": [{
        "judge_id": "j", "n": 4, **dict.fromkeys(("kappa", "kappa_max", "prevalence", "prevalence_index", "bias_index", "pabak", "ac1"), _RATIO),
        "kappa_interval": _INTERVAL, "mcc": _NONE, "paradox": "None here.", "checks": [_CHECK | {"status": None, "flip": None}],
        "slices": [{"name": None, "n": 4, "kappa": _RATIO, "agreement": _RATIO, "false_positive_rate": _RATIO}], "slices_left_out": 0,
        "evidence": [{"part": "raters", "text": "Not supplied."}],
    }],
    "holdout": {
        "n": 4, "runs": {"baseline": [1, 1], "candidate": [1, 2]}, "clusters": 4, "view": "flips", "split": 0,
        "flips": {"both_pass": 1, "regressions": 1, "fixes": 1, "both_fail": 1}, "net_gain": _RATIO, "exact": _P, "mid_p": _P, "smallest_p": _P,
        "newcombe": _INTERVAL, "tango": _INTERVAL, "tested": {"test": "exact", "units": 4, "gain": 0.25, "p": _P, "interval": _INTERVAL},
        "band": _NONE, "regression_cap": "0.05", "smallest_gain": _NONE,
        "wanted": {"effect": "0.05", "power": "0.8", "items": 99, "undefined": None}, "standing": "not shown",
        "gaps": [{"code": "too_few_items", "text": "n = 4"}], "sentence": "unproven", "no_slices": None, "slices_left_out": 0,
        "slices": [{
            "name": "maths", "n": 4, "fixes": 1, "regressions": 1, "gain": 0, "test": "exact", "p": _P, "holm": 1, "benjamini_hochberg": 1,
            "can_reach": False, "standing": "not shown",
        }],
        "pass_at_k": [{"k": 2, "baseline": _PASSED, "candidate": _PASSED}],
    },
    "no_behaviours": None, "behaviours": {
        "served": "v1", "candidate": "v2", "sentence": "v2 against v1 on 1 behaviour: not shown on 1; proven on 0", "left_out": 0, "rows": [{
            "behaviour": "tone", "role": "guarded", "state": "not shown", "gain": 0.25, "p": _P, "corrected": 1, "standing": "not shown",
            "proven": False, "gaps": [{"code": "too_few_items", "text": "n = 4"}], "sentence": "unproven",
        }],
    },
}
COVERAGE: dict[str, Any] = {
    "version": 3, "opened": None,
    "disputes": {
        "count": 1, "pairs": [{"pair_id": "p2", "state": "rejected"}], "left_out": 0, "sha256": sha('[["p2","rejected"]]'), "seen": 3,
    },
    "drift": [{"judge_id": "j", "round_id": "r0", "round_digest": sha("r0"), "sentences": ["Nothing changed."]}],
    "exposure": {
        "items": 4, "look": 2, "decided": True, "later": 0, "looks": 1, "full": 1, "fresh": 0, "most_used": 1, "largest_overlap": 1,
        "earlier": [{"round_id": "r0", "round_digest": sha("r0"), "verdict": "REFUSE", "shared": 4}],
        "budget": {"rule": "bonferroni", "alpha": 0.05, "planned": 20, "look": 2, "spent": 0.005, "now": 0.0025, "left": 0.045, "exhausted": False},
        "no_budget": None, "best_by_luck": 0.1, "no_luck": None, "whole_scores": 0.7, "verdict_only": 0.6,
        "ladder": {"accepted": False, "board": 0.5, "rate": 0.5, "step": 0.01, "undefined": None},
        "record": {"lines": 2, "sha256": sha("looks")}, "undefined": None, "sentences": ["1 earlier round looked at these holdout items."],
    },
    "sampling": {
        "version": 2, "verification": "program", "state": "complete", "person": "ben@example.org", "method": "fixed", "population": 4,
        "max_defect_rate": "0.05", "confidence": "0.95", "sizes": [4], "seed": "00ff", "seeds_drawn": 1, "admitted_sha256": sha("[]"),
        "grid_digest": sha("grid"), "shown": 4, "judged": 4, "unjudged": 0, "taken_back": 0, "defects": 1,
        "counts": {"chosen": 3, "rejected": 1, "both_bad": 0, "tie": 0, "skip": 0}, "bound": _RATIO | {"numerator": 1, "value": 0.25},
        "target_met": False, "kappa": _RATIO, "sides": {"both_first": 1, "human_first": 1, "verifier_first": 1, "both_second": 1},
        "disagreements": {"count": 1, "pair_ids": ["p1"], "left_out": 0}, "labels_sha256": sha("labels"),
    },
}


def as_version_2(statement: Statement) -> Statement:
    """A decision as an engine of the second version wrote it: no slices, no other parts, no behaviours, no drift."""
    document = json.loads(statement.payload)
    strength, coverage = document["predicate"]["strength"], document["predicate"]["coverage"]
    for holder, names in (
        *((judge, ("slices", "slices_left_out", "evidence")) for judge in strength["judges"]), (strength, ("behaviours", "no_behaviours")),
        (strength["holdout"] or {}, ("slices", "slices_left_out", "no_slices", "pass_at_k")), (coverage, ("drift", "disputes")),
    ):
        for name in names:
            holder.pop(name, None)
    strength["version"] = coverage["version"] = 2
    coverage["opened"] = None
    document["predicateType"] = "urn:countersign:decision:v2"
    return parse_statement(canonical_bytes(document))


def as_version_1(statement: Statement) -> Statement:
    """A decision as an engine of the first version wrote it, whose two sub-objects were empty."""
    document = json.loads(statement.payload)
    document["predicateType"] = "urn:countersign:decision:v1"
    document["predicate"] |= {"strength": {"version": 1}, "coverage": {"version": 1}}
    return parse_statement(canonical_bytes(document))


def round_part(name: str, proposers: list[str], **changes: Any) -> dict[str, Any]:
    return {
        "round_id": name, "round_digest": sha(name), "grid_digest": default_grid().digest,
        "holdout_lock": {"sha256": sha("holdout"), "registered_at": None, "registered_by": None}, "holdout_digest": sha("holdout"),
        "candidate_name": "candidate", "candidate_digest": sha(f"candidate of {name}"), "baseline_name": "baseline", "baseline_digest": None,
        "proposers": proposers, **changes,
    }


def proposal(view: LedgerView, registry: Registry, proposer: str, name: str = "r1", now: datetime = NOW, **changes: Any) -> Statement:
    part = round_part(name, [proposer])
    part |= {key: value for key, value in changes.items() if key in part}
    members = {
        **common_members(view, registry, now), **part, "proposer": proposer, "pairs_digest": sha(f"pairs of {name}"), "supersedes": [],
    }
    members |= changes
    if "supersedes" not in changes:
        members["supersedes"] = [reference(entry) for entry in earlier_decisions(view, members)]
    return build_statement("proposal", members)


def decision(view: LedgerView, registry: Registry, reviewer: str, proposed: LedgerEntry, now: datetime = NOW, **changes: Any) -> Statement:
    named = proposed.statement.predicate
    part = {name: named[name] for name in round_part("", [])}
    return build_statement("decision", {
        **common_members(view, registry, now), **part, "decision": "approve", "reviewer": reviewer, "identified_by": "registered_key",
        "proposal_sha256": proposed.digest, "holdout_witness": None, "engine_version": "0", "code_digest": sha("code"),
        "literal_gate": {"passed": True, "policy_digest": sha("policy"), "files": 1, "violations": []},
        "receipt_sha256": sha("receipt"), "receipt": RECEIPT, "refusal": None, "admitted_pairs_sha256": sha("[]"),
        "reason_table": {"in": 3, "admitted": 1, "rejected": 1, "held": 1, "quarantined": 0, "reasons": dict.fromkeys(REASONS, 0) | {"duplicate": 1}},
        "comment": "", "strength": STRENGTH, "coverage": COVERAGE, **changes,
    })


def registration(view: LedgerView, registry: Registry, person: str, holdout: str = "holdout", now: datetime = NOW, **changes: Any) -> Statement:
    members = {**common_members(view, registry, now), "holdout_sha256": sha(holdout), "items": 3, "registered_by": person}
    return build_statement("registration", members | changes)


def seal_document(statement: Statement, actor: Actor) -> Envelope:
    return seal(PAYLOAD_TYPE, statement.payload, actor)


def append(ledger: Ledger, statement: Statement, actor: Actor, rules: Rules) -> LedgerEntry:
    envelope = seal_document(statement, actor)
    return ledger.append(envelope, lambda view: admit(view, envelope, statement, rules))


@dataclass(frozen=True)
class Court:
    """A ledger with a proposer Ana and reviewers Ben and Eva."""

    ledger: Ledger
    ana: Actor
    ben: Actor
    eva: Actor
    registry: Registry
    rules: Rules

    def propose(self, name: str = "r1", **changes: Any) -> LedgerEntry:
        return append(self.ledger, proposal(self.ledger.read(), self.registry, self.ana.id, name, **changes), self.ana, self.rules)

    def decide(self, proposed: LedgerEntry, actor: Actor | None = None, **changes: Any) -> LedgerEntry:
        who = actor or self.ben
        return append(self.ledger, decision(self.ledger.read(), self.registry, who.id, proposed, **changes), who, self.rules)

    def register(self, holdout: str = "holdout", actor: Actor | None = None) -> LedgerEntry:
        who = actor or self.eva
        return append(self.ledger, registration(self.ledger.read(), self.registry, who.id, holdout), who, self.rules)


def court(folder: Path) -> Court:
    ana, ben, eva = Actor("ana@example.org", aliases=("curator-a",)), Actor("ben@example.org"), Actor("eva@example.org")
    registry = registry_of(ana, ben, eva)
    return Court(Ledger(folder / "ledger" / "receipts.jsonl"), ana, ben, eva, registry, rules_of(registry))
