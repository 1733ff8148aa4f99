"""What the files beside an export claim, put to the test by a reviewer who believed none of it."""
from __future__ import annotations

import json
from pathlib import Path

import pytest
from support_desk import desk
from support_export import CHAT, approved_round, call, round_with, rows_of, say, signed_export, tree
from support_forgery import append_by_hand
from support_rounds import pair
from support_signing import seal_document

from core.signing.statement import build_statement

# who approved


@pytest.mark.parametrize("choice", ["approve", "reject"])
def test_what_somebody_appends_behind_the_closing_decision_is_no_approval(tmp_path: Path, choice: str) -> None:
    """Statement and signature are sound, but the round was closed: by then nobody's word counts, least of all a rejection as an approval."""
    made = desk(tmp_path)
    source = round_with(made, CHAT, about={"reviewer": None})
    made.propose(source)
    late = made.prepare(source, made.eva, choice=choice, comment="Too late.")
    approved_by = made.sign(made.prepare(source))
    before = signed_export(made, source, tmp_path / "before")
    head = made.ledger.read().head.as_dict()
    append_by_hand(made.ledger, seal_document(build_statement("decision", {**late.statement.predicate, "ledger": head}), made.eva))
    after = signed_export(made, source, tmp_path / "after")
    assert [item.reviewer for item in after.facts.provenance.approvals] == [made.verifier.id]
    assert approved_by.entry.statement.signer == made.verifier.id
    # the same receipt gives the same bytes
    assert tree(after.folder) == tree(before.folder)


# numbers


@pytest.mark.parametrize("value", [1e20, -1e19, 18446744073709551616.0, 9.3e18], ids=repr)
def test_a_real_number_that_is_whole_is_written_as_one(tmp_path: Path, value: float) -> None:
    """RFC 8785 writes 1e20 with 21 digits and no point. Readers take digits for an integer, and those of 64 bits refuse the file for it."""
    answer = [say("assistant", None, tool_calls=[call({"x": value, "n": 9007199254740991})])]
    made = approved_round(tmp_path, [pair(pair_id="n", chosen=answer, rejected=[say("assistant", "no")])], alone=True)
    done = signed_export(*made, tmp_path / "d")
    assert rows_of(done)[0]["chosen"] == answer
    text = (done.folder / "train.jsonl").read_text("utf-8")
    arguments = rows_of(done)[0]["chosen"][0]["tool_calls"][0]["function"]["arguments"]
    assert type(arguments["x"]) is float and type(arguments["n"]) is int and '"n":9007199254740991' in text
    assert json.dumps(value) in text
