"""Statements: exact schema, agreement with themselves, and no crash whatever a validly signed payload says."""
from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support_signing import COVERAGE, REFUSAL, STRENGTH, Court, as_version_1, as_version_2, court, decision, proposal, registration, sha

from core.canonical import canonical_bytes, canonical_digest
from core.errors import ReceiptError
from core.signing.statement import SIGNED_RECEIPT_FIELDS, Statement, build_statement, parse_statement


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Court:
    return court(tmp_path_factory.mktemp("statements"))


@pytest.fixture(scope="module")
def approval(made: Court) -> Statement:
    return decision(made.ledger.read(), made.registry, made.ben.id, made.propose())


@pytest.fixture(scope="module")
def every_kind(made: Court, approval: Statement) -> dict[str, Statement]:
    view = made.ledger.read()
    return {
        "decision": approval, "proposal": proposal(view, made.registry, made.ana.id, "r9"),
        "registration": registration(view, made.registry, made.eva.id), "decision of version 1": as_version_1(approval),
        "decision of version 2": as_version_2(approval),
    }


def documents(statement: Statement) -> Any:
    return json.loads(statement.payload)


def test_in_toto_statement_v1(every_kind: dict[str, Statement]) -> None:
    types = {
        "decision": "urn:countersign:decision:v3", "proposal": "urn:countersign:proposal:v1", "registration": "urn:countersign:registration:v1",
        "decision of version 1": "urn:countersign:decision:v1", "decision of version 2": "urn:countersign:decision:v2",
    }
    assert types.keys() == every_kind.keys()
    for kind, statement in every_kind.items():
        document = documents(statement)
        assert sorted(document) == ["_type", "predicate", "predicateType", "subject"]
        assert document["_type"] == "https://in-toto.io/Statement/v1"
        assert document["predicateType"] == statement.predicate_type == types[kind]
        assert statement.kind == kind.split()[0] and statement.is_newest is ("version" not in kind)
        assert statement.has_strength is (kind in ("decision", "decision of version 2"))
        assert canonical_bytes(document) == statement.payload
        assert parse_statement(statement.payload) == statement


def test_subjects_follow_from_the_predicate(every_kind: dict[str, Statement], approval: Statement) -> None:
    subjects = {kind: {item["name"]: item["digest"]["sha256"] for item in documents(statement)["subject"]} for kind, statement in every_kind.items()}
    assert subjects["registration"] == {"holdout.json": sha("holdout")}
    assert subjects["proposal"] == {"round.json": sha("r9"), "candidate": sha("candidate of r9")}
    assert subjects["decision"] == {"receipt.json": sha("receipt"), "admitted_pairs.json": sha("[]"), "candidate": sha("candidate of r1")}
    without = build_statement("decision", {**approval.predicate, "candidate_digest": None})
    assert [item["name"] for item in documents(without)["subject"]] == ["receipt.json", "admitted_pairs.json"]
    refused = build_statement("decision", {**approval.predicate, "decision": "reject", "receipt": None, "receipt_sha256": None, "refusal": REFUSAL})
    assert documents(refused)["subject"][0] == {"name": "refusal.json", "digest": {"sha256": canonical_digest(REFUSAL)}}


def test_a_decision_repeats_the_16_fields_other_than_the_ids(approval: Statement) -> None:
    schema = json.loads((Path(__file__).parents[1] / "fixtures" / "worked_example" / "receipt.schema.json").read_text())
    assert len(SIGNED_RECEIPT_FIELDS) == 16
    assert set(approval.predicate["receipt"]) == set(schema["required"]) - {"admitted_pair_ids"}


def test_what_a_decision_holds(approval: Statement) -> None:
    for name in ("decision", "round_id", "round_digest", "proposal_sha256", "holdout_digest", "holdout_witness", "grid_digest", "engine_version",
                 "code_digest", "literal_gate", "receipt_sha256", "receipt", "refusal", "reason_table", "proposers", "reviewer", "registry_digest",
                 "ledger", "issuedAt", "expiresAt", "nonce", "comment", "strength", "coverage", "candidate_digest", "identified_by"):
        assert name in approval.predicate
    assert set(approval.predicate["ledger"]) == {"origin", "size", "root"}


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += paths(item, (*path, key))
    return found


def replaced(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    result = copy.deepcopy(document)
    holder = result
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return result


WRONG = [None, True, False, -1, 7, 1.5, 1e300, "", "x", "\u202e", [], [1], {}, {"a": 1}, "2026-01-01T00:00:00Z", sha("other")]


def test_a_wrong_type_anywhere_is_a_receipt_error_or_a_statement(every_kind: dict[str, Statement]) -> None:
    """Wrong types inside a validly signed payload must not crash: each member in turn becomes each of these values."""
    refused = 0
    for statement in every_kind.values():
        document = documents(statement)
        for path in paths(document):
            for value in WRONG:
                try:
                    read = parse_statement(canonical_bytes(replaced(document, path, value)))
                except ReceiptError as error:
                    assert error.exit_code == 4
                    refused += 1
                else:
                    assert read.signer is not None
    assert refused > 2000


def test_each_member_is_needed_and_no_other_is_taken(every_kind: dict[str, Statement]) -> None:
    for statement in every_kind.values():
        document = documents(statement)
        for path in paths(document):
            holder = document
            for key in path:
                holder = holder[key]
            if path and isinstance(path[-1], str):
                short = copy.deepcopy(document)
                inner = short
                for key in path[:-1]:
                    inner = inner[key]
                del inner[path[-1]]
                with pytest.raises(ReceiptError):
                    parse_statement(canonical_bytes(short))
            if isinstance(holder, dict):
                with pytest.raises(ReceiptError):
                    parse_statement(canonical_bytes(replaced(document, (*path, "extra"), 1)))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"refusal": REFUSAL}, "inconsistent_statement"),
        ({"receipt": None}, "inconsistent_statement"),
        ({"receipt_sha256": None}, "inconsistent_statement"),
        ({"receipt": None, "receipt_sha256": None, "refusal": REFUSAL}, "approved_refusal"),
        ({"expiresAt": "2026-03-01T11:59:59Z"}, "inconsistent_statement"),
        ({"comment": "x" * 4001}, "too_long"),
        ({"decision": "maybe"}, "wrong_type"),
        ({"strength": {"version": 1}}, "wrong_fields"),
        ({"strength": STRENGTH | {"version": 4}}, "wrong_type"), ({"strength": STRENGTH | {"version": 2}}, "wrong_type"),
        ({"strength": STRENGTH | {"kappa": 1}}, "wrong_fields"),
        ({"strength": {}}, "wrong_fields"),
        ({"coverage": COVERAGE | {"opened": []}}, "wrong_type"),
        ({"issuedAt": "2026-03-01T12:00:00+00:00"}, "wrong_type"),
        ({"issuedAt": "2026-3-1T12:00:00Z"}, "wrong_type"),
        ({"issuedAt": "2026-02-30T12:00:00Z"}, "wrong_type"),
        ({"round_digest": sha("r").upper()}, "wrong_type"),
        ({"proposers": []}, "wrong_type"),
    ],
)
def test_refused(approval: Statement, changes: dict[str, Any], code: str) -> None:
    with pytest.raises(ReceiptError) as caught:
        build_statement("decision", {**approval.predicate, **changes})
    assert caught.value.code == code


def test_an_engine_refusal_cannot_be_approved(approval: Statement) -> None:
    lost = {**approval.predicate["receipt"], "promote_round": False}
    with pytest.raises(ReceiptError) as caught:
        build_statement("decision", {**approval.predicate, "receipt": lost})
    assert caught.value.code == "approved_refusal"
    assert build_statement("decision", {**approval.predicate, "receipt": lost, "decision": "reject"}).approves is False


def test_counts_must_add_up(approval: Statement) -> None:
    table = approval.predicate["reason_table"]
    for wrong in ({**table, "in": table["in"] + 1}, {**table, "reasons": {**table["reasons"], "duplicate": 0}}):
        with pytest.raises(ReceiptError) as caught:
            build_statement("decision", {**approval.predicate, "reason_table": wrong})
        assert caught.value.code == "counts_do_not_add_up"


def test_reason_codes_are_sorted_and_different(approval: Statement) -> None:
    base = {**approval.predicate, "decision": "reject", "receipt": None, "receipt_sha256": None}
    a, b = ({"code": code, "detail": ""} for code in "ab")
    assert build_statement("decision", {**base, "refusal": REFUSAL | {"reasons": [a, b]}}).kind == "decision"
    for reasons in ([b, a], [a, a]):
        with pytest.raises(ReceiptError):
            build_statement("decision", {**base, "refusal": REFUSAL | {"reasons": reasons}})


def test_each_version_holds_its_own_sub_objects_and_no_other(approval: Statement) -> None:
    """Strict in all versions: nothing is taken unread, so that nothing unread can be shown as evidence."""
    first, second = as_version_1(approval), as_version_2(approval)
    assert first.predicate["strength"] == first.predicate["coverage"] == {"version": 1}
    for statement, member, value in [
        (first, "strength", STRENGTH), (first, "coverage", COVERAGE), (first, "strength", {"version": 2}),
        (first, "coverage", {"version": 3, "x": 1}),
        (second, "strength", STRENGTH), (second, "coverage", COVERAGE), (approval, "strength", second.predicate["strength"]),
        (second, "coverage", second.predicate["coverage"] | {"opened": {"pages": [], "not_opened": []}}),
        (approval, "coverage", second.predicate["coverage"]), (approval, "strength", {"version": 1}), (approval, "coverage", {"version": 1}),
        (approval, "coverage", {"version": 3, "x": 1}),
    ]:
        with pytest.raises(ReceiptError):
            parse_statement(canonical_bytes(replaced(documents(statement), ("predicate", member), value)))


def test_an_unknown_version_of_a_predicate_is_refused(approval: Statement) -> None:
    with pytest.raises(ReceiptError) as caught:
        parse_statement(canonical_bytes(documents(approval) | {"predicateType": "urn:countersign:decision:v4"}))
    assert caught.value.code == "wrong_type"


def test_parts_that_may_be_missing(approval: Statement) -> None:
    """A round without a holdout, a grid without a budget, a reviewer who sampled nothing."""
    strength = STRENGTH | {"holdout": None, "no_holdout": "not supplied: holdout", "judges": [], "checks": [], "confidence": None}
    exposure = COVERAGE["exposure"] | {"budget": None, "no_budget": "the grid sets no look_alpha", "largest_overlap": None, "earlier": []}
    statement = build_statement("decision", {
        **approval.predicate, "strength": strength, "coverage": COVERAGE | {"exposure": exposure, "sampling": None},
    })
    assert statement.predicate["coverage"]["sampling"] is None


def test_only_canonical_bytes_are_a_statement(approval: Statement) -> None:
    for data in (approval.payload + b"\n", b" " + approval.payload, json.dumps(documents(approval)).encode()):
        with pytest.raises(ReceiptError) as caught:
            parse_statement(data)
        assert caught.value.code == "not_canonical"


@given(st.binary(max_size=60))
def test_garbage_is_a_receipt_error(data: bytes) -> None:
    with pytest.raises(ReceiptError):
        parse_statement(data)
