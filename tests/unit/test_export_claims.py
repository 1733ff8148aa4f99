"""What the files beside an export claim, put to the test by a reviewer who believed none of it."""
from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support_desk import Desk, desk
from support_export import CHAT, approved_round, call, round_with, rows_of, say, signed_export, tree, unsigned_export
from support_forgery import append_by_hand
from support_rounds import pair
from support_signing import NOW, Actor, seal_document

from core.canonical import sha256_hex
from core.errors import CountersignError
from core.export.provenance import UNSIGNED
from core.export.recipe import recipe_text
from core.export.safe_text import scalar, yaml_lines
from core.grid import default_grid, grid_from_document
from core.rounds.folder import Round
from core.signing.dsse import Envelope
from core.signing.grids import accept_grid
from core.signing.signoff import prepare
from core.signing.statement import PAYLOAD_TYPE, build_statement

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


def refused(made: Desk, source: Round, to: Path) -> CountersignError:
    with pytest.raises(CountersignError) as caught:
        signed_export(made, source, to)
    assert not to.exists() and not list(to.parent.glob(".export-*"))
    return caught.value


def test_a_key_that_was_revoked_before_the_decision_approves_no_dataset(tmp_path: Path) -> None:
    made, source = approved_round(tmp_path, [])
    for index in (2, 1):  # the decision is entry 1
        verifier = Actor(made.verifier.id, roles=("reviewer",), extra=f"revoked_from_index = {index}", private=made.verifier.private)
        made.write_registry(made.curator, verifier)
        if index == 1:
            assert refused(made, source, tmp_path / "d").code == "not_approved"
        else:
            assert signed_export(made, source, tmp_path / "before").facts.provenance.signed


def test_a_grid_that_is_no_longer_accepted_approves_no_dataset(tmp_path: Path) -> None:
    made = desk(tmp_path)
    grid = grid_from_document(json.loads(default_grid().canonical) | {"name": "strict", "author": "eva", "reason": "try"})
    accept_grid(made.workspace, grid, made.eva.id, made.registry, now=NOW)
    source = round_with(made, CHAT)
    made.propose(source, grid=grid)
    made.sign(prepare(made.workspace, source, made.assess(source, grid), made.verifier.id, "approve", "", made.registry, NOW))
    assert signed_export(made, source, tmp_path / "while-accepted").facts.provenance.grid.digest == grid.digest
    made.workspace.grids_file.unlink()
    assert refused(made, source, tmp_path / "d").code == "not_approved"


def test_the_receipt_of_another_round_approves_no_dataset(tmp_path: Path) -> None:
    """The reviewer's own statement about r1, with the digest of r2 written into it: nobody's signature covers that."""
    made, first = approved_round(tmp_path, [])
    other = round_with(made, CHAT, "r2")
    made.propose(other)
    entries = made.ledger.read().entries
    moved = build_statement("decision", {
        **entries[1].statement.predicate, "round_digest": other.digest, "round_id": "r2", "proposal_sha256": entries[2].digest,
        "ledger": made.ledger.read().head.as_dict(),
    })
    append_by_hand(made.ledger, Envelope(PAYLOAD_TYPE, moved.payload, entries[1].envelope.signature))
    assert (refused(made, other, tmp_path / "d").code, made.ledger.read().size) == ("not_approved", 4)
    # and signed indeed, but over the evidence of r1: the figures are not those of r2
    signed = build_statement("decision", {**moved.predicate, "ledger": made.ledger.read().head.as_dict()})
    append_by_hand(made.ledger, seal_document(signed, made.verifier))
    assert refused(made, other, tmp_path / "d").code == "recomputed_differently"
    assert first.digest != other.digest


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


# unsigned, wherever a program looks


def test_unsigned_is_said_in_every_file_that_a_program_reads(tmp_path: Path) -> None:
    made = approved_round(tmp_path, [], alone=False)
    done = unsigned_export(*made, tmp_path / "u", "llamafactory-alpaca", parquet=True)
    recipe = json.loads((done.folder / "training-recipe.json").read_text("utf-8"))
    assert (recipe["signed"], recipe["statement"], recipe["receipt_sha256"]) == (False, UNSIGNED, None)
    assert UNSIGNED in (done.folder / "training-recipe.md").read_text("utf-8")
    document = json.loads((done.folder / "croissant.json").read_text("utf-8"))
    assert "unsigned" in document["keywords"] and UNSIGNED in document["description"]
    assert list(json.loads((done.folder / "dataset_info.json").read_text("utf-8"))) == ["r1-unsigned"]
    # the Parquet file may go its own way
    told = json.loads(pq.read_schema(done.folder / "train.parquet").metadata[b"countersign"])
    assert (told["signed"], told["statement"], told["round_digest"]) == (False, UNSIGNED, made[1].digest)


def test_a_signed_export_names_its_receipt_in_the_same_places(tmp_path: Path) -> None:
    made = approved_round(tmp_path, [])
    done = signed_export(*made, tmp_path / "s", "llamafactory-alpaca", parquet=True)
    digest = sha256_hex((done.folder / "evidence" / "receipt.json").read_bytes())
    recipe = json.loads((done.folder / "training-recipe.json").read_text("utf-8"))
    told = json.loads(pq.read_schema(done.folder / "train.parquet").metadata[b"countersign"])
    for said in (recipe, told):
        assert (said["signed"], said["statement"], said["receipt_sha256"]) == (True, "approved", digest)
    assert list(json.loads((done.folder / "dataset_info.json").read_text("utf-8"))) == ["r1"]
    assert "unsigned" not in (done.folder / "training-recipe.md").read_text("utf-8").lower()


# numbers in YAML


@pytest.mark.parametrize(("value", "text"), [
    (1e-05, "0.00001"), (0.05, "0.05"), (1.0, "1.0"), (1e22, "10000000000000000000000.0"), (-2.5e-07, "-0.00000025"),
])
def test_a_number_has_no_exponent_where_yaml_would_read_a_text(value: float, text: str) -> None:
    # YAML 1.1, which PyYAML follows, reads 1e-05 as a text: a number with an exponent wants a point
    assert scalar(value) == text and float(text) == value
    assert list(yaml_lines({"threshold": value})) == [f"threshold: {text}"]


def test_small_weights_of_the_recipe_are_numbers_where_they_are_pasted() -> None:
    entry = {"trainers": {"t": {"settings": {"rl_beta": 1e-05, "weights": [1.0, 1e-06], "kind": "dpo"}}}, "notes": [], "signed": True,
             "objective": {"beta": "0.00001", "alpha": "0.000001", "formula": "f"}, "grid": {"name": "g", "version": 1, "digest": "0"}}
    assert "`rl_beta=0.00001`, `weights=[1.0, 0.000001]`, `kind='dpo'`" in recipe_text(entry)
