"""A dataset folder: exactly the approved pairs, whole or not at all, the same bytes every time, and a card that nothing can break."""
from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support_desk import Desk
from support_export import (
    CASE_17,
    CASE_21,
    CHAT,
    LATER,
    approved,
    approved_round,
    round_with,
    rows_of,
    say,
    signed_export,
    tree,
    unsigned_export,
    wanted,
)
from support_rounds import pair

from core.canonical import parse_json, sha256_hex
from core.errors import CountersignError, DigestMismatch, EngineRefusal, ExportError, NotApproved
from core.export import dataset as dataset_module
from core.export.archive import dataset_zip
from core.export.card import size_category
from core.export.dataset import export_dataset
from core.export.pairs import admitted_ranks
from core.export.provenance import UNSIGNED, signed_provenance
from core.export.safe_text import code, scalar, yaml_lines
from core.export.shapes import SHAPES
from core.grid import default_grid
from core.rounds.folder import Round
from core.signing.export import read_export
from core.signing.verify import verify_export

ROWS = [*CHAT, *CASE_17, *CASE_21]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Round]:
    return approved_round(tmp_path_factory.mktemp("desk"), ROWS, comment="Looked at `all` of <b>them</b>.\n---\nlicense: mit")


def front_of(card: str) -> dict[str, Any]:
    """The front matter, read by a reader of the YAML subset that it is written in: block style, every scalar JSON."""
    head, rest = card.split("---\n", 2)[1:]
    assert card.startswith("---\n") and rest.startswith("\n# ")
    lines = head.splitlines()
    value, end = _block(lines, 0, 0)
    assert end == len(lines)
    return value


def _block(lines: list[str], at: int, depth: int) -> tuple[Any, int]:
    if lines[at].lstrip().startswith("- "):
        items = []
        while at < len(lines) and _depth(lines[at]) == depth and lines[at].lstrip().startswith("- "):
            first = lines[at].lstrip()[2:]
            if re.match(r"[A-Za-z_]+:( |$)", first):
                lines[at] = " " * (depth + 2) + first
                item, at = _block(lines, at, depth + 2)
            else:
                item, at = json.loads(first), at + 1
            items.append(item)
        return items, at
    members: dict[str, Any] = {}
    while at < len(lines) and _depth(lines[at]) == depth and not lines[at].lstrip().startswith("- "):
        key, _, rest = lines[at].lstrip().partition(":")
        assert re.fullmatch(r"[A-Za-z_0-9]+", key) and key not in members, lines[at]
        if rest:
            members[key], at = json.loads(rest), at + 1
        else:
            members[key], at = _block(lines, at + 1, _depth(lines[at + 1]))
    return members, at


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


# what is exported


def admitted_ids(made: tuple[Desk, Round]) -> list[str]:
    desk, source = made
    return desk.assess(source).admitted_pair_ids()


def test_the_pairs_are_the_admitted_ones_in_the_signed_order_with_their_own_texts(made: tuple[Desk, Round], tmp_path: Path) -> None:
    rows = rows_of(signed_export(*made, tmp_path / "d", extras=("pair-ids",)))
    assert [row["pair_id"] for row in rows] == admitted_ids(made)
    # the worked example admits two of its five; ours are all admitted
    assert {row["pair_id"] for row in rows} == {"pair-synth-calibrated-1", "pair-rpo-clean-1", *(row["pair_id"] for row in ROWS)}
    by_id = {row["pair_id"]: row for row in rows}
    for given in ROWS:
        row = by_id[given["pair_id"]]
        for side, role in (("prompt", "user"), ("chosen", "assistant"), ("rejected", "assistant")):
            assert row[side] == (given[side] if isinstance(given[side], list) else [say(role, given[side])]), given["pair_id"]
        assert row["tools"] == given.get("tools")


def test_a_pair_that_was_rejected_is_not_there(made: tuple[Desk, Round], tmp_path: Path) -> None:
    text = (signed_export(*made, tmp_path / "d").folder / "train.jsonl").read_text("utf-8")
    # fixtures/worked_example: rejected for length, collapse and as a duplicate
    for words in ("pair-length-bias", "pair-collapse-trap", "pair-skeleton-dup"):
        assert words not in text


def test_the_files_of_a_signed_export(made: tuple[Desk, Round], tmp_path: Path) -> None:
    done = signed_export(*made, tmp_path / "d", parquet=True)
    names = {
        "README.md", "croissant.json", "train.jsonl", "train.parquet", "training-recipe.json", "training-recipe.md", "sha256sums",
        "regression-rate.prml.yaml", "sanity-retention.prml.yaml",
        *(f"evidence/{name}.json" for name in ("decision", "proposal", "receipt", "admitted_pairs", "export")),
    }
    assert set(tree(done.folder)) == set(done.files) == names


def test_sha256sum_checks_every_other_file(made: tuple[Desk, Round], tmp_path: Path) -> None:
    done = signed_export(*made, tmp_path / "d", parquet=True)
    result = subprocess.run(["sha256sum", "-c", "--strict", "sha256sums"], cwd=done.folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    assert len(result.stdout.splitlines()) == len(done.files) - 1
    listed = {line.split("  ")[1]: line.split("  ")[0] for line in (done.folder / "sha256sums").read_text().splitlines()}
    assert listed == {name: hashlib.sha256(data).hexdigest() for name, data in tree(done.folder).items() if name != "sha256sums"}
    (done.folder / "train.jsonl").write_bytes(b"{}\n")
    assert subprocess.run(["sha256sum", "-c", "sha256sums"], cwd=done.folder, capture_output=True).returncode != 0


def test_the_evidence_verifies_by_itself(made: tuple[Desk, Round], tmp_path: Path) -> None:
    desk, source = made
    done = signed_export(desk, source, tmp_path / "d")
    found = verify_export(read_export(done.folder / "evidence"), desk.registry, source, desk.ledger.read())
    assert (found.outcome, found.exit_code) == ("APPROVED", 0)
    assert sha256_hex(tree(done.folder)["evidence/admitted_pairs.json"]) == done.facts.provenance.admitted_sha256


def test_parquet_and_json_lines_hold_the_same(made: tuple[Desk, Round], tmp_path: Path) -> None:
    done = signed_export(*made, tmp_path / "d", parquet=True)

    def value(item: Any, given: Any) -> Any:
        if isinstance(item, list):
            return [value(one, other) for one, other in zip(item, given, strict=True)]
        return json.loads(item) if isinstance(item, str) and not isinstance(given, str) else item

    table = pq.read_table(done.folder / "train.parquet").to_pylist()
    rows = rows_of(done)
    for row, lines in zip(table, rows, strict=True):
        assert {name: value(row[name], lines[name]) for name in ("prompt", "chosen", "rejected")} == {
            name: lines[name] for name in ("prompt", "chosen", "rejected")}
        # a column of texts, lists and nulls is JSON text throughout
        assert (None if row["tools"] is None else json.loads(row["tools"])) == lines["tools"]


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_writes_a_folder(name: str, tmp_path: Path) -> None:
    desk, source = approved_round(tmp_path, [])
    done = signed_export(desk, source, tmp_path / "out", name, parquet=True)
    assert done.facts.rows == 2 == pq.read_table(done.folder / "train.parquet").num_rows == len(rows_of(done))
    assert ("dataset_info.json" in done.files) == name.startswith("llamafactory")


# the same bytes, whole or not at all


def test_the_same_receipt_gives_the_same_bytes_although_the_ledger_grew(tmp_path: Path) -> None:
    desk, source = approved_round(tmp_path, ROWS)
    first = tree(signed_export(desk, source, tmp_path / "one", parquet=True).folder)
    approved(desk, round_with(desk, CHAT, "r2"))
    shutil.rmtree(desk.workspace.assessments_dir)
    second = tree(signed_export(desk, source, tmp_path / "two", parquet=True).folder)
    assert first == second


def test_nothing_is_overwritten(made: tuple[Desk, Round], tmp_path: Path) -> None:
    for name, make in (("full", lambda path: (path.mkdir(), (path / "x").write_text("mine"))), ("empty", Path.mkdir), ("file", Path.touch),
                       ("link", lambda path: path.symlink_to(tmp_path / "nowhere"))):
        make(tmp_path / name)
        with pytest.raises(ExportError) as caught:
            signed_export(*made, tmp_path / name)
        assert caught.value.code == "name_taken"
    assert (tmp_path / "full" / "x").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file", "full", "link"]


def test_a_folder_in_a_folder_that_is_not_there(made: tuple[Desk, Round], tmp_path: Path) -> None:
    with pytest.raises(ExportError) as caught:
        signed_export(*made, tmp_path / "a" / "b")
    assert caught.value.code == "no_parent" and not any(tmp_path.iterdir())


@pytest.mark.parametrize("step", ["write_lines", "write_parquet", "card", "_sums", "_flush"])
def test_a_broken_off_export_leaves_nothing(made: tuple[Desk, Round], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def broken(*_: Any) -> None:
        raise OSError("disk full")

    provenance = signed_provenance(made[0].workspace, made[1], LATER)
    monkeypatch.setattr(dataset_module, step, broken)
    with pytest.raises(ExportError) as caught:
        export_dataset(provenance, wanted(parquet=True), tmp_path / "d")
    assert (caught.value.code, caught.value.got) == ("cannot_write", "disk full")
    assert not any(tmp_path.iterdir())


def test_a_round_that_changes_while_it_is_written_is_no_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, source = approved_round(tmp_path, CHAT)
    provenance = signed_provenance(desk.workspace, source, LATER)  # verified here
    card_as_it_is = dataset_module.card

    def changed_meanwhile(facts: Any) -> str:
        spoil(source.path / "text.parquet")
        return card_as_it_is(facts)

    monkeypatch.setattr(dataset_module, "card", changed_meanwhile)
    with pytest.raises(DigestMismatch):
        export_dataset(provenance, wanted(), tmp_path / "d")
    assert not (tmp_path / "d").exists()


def test_a_place_that_cannot_be_written(made: tuple[Desk, Round], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> str:
        raise PermissionError(13, "Permission denied")

    provenance = signed_provenance(made[0].workspace, made[1], LATER)
    monkeypatch.setattr(dataset_module.tempfile, "mkdtemp", refused)
    with pytest.raises(ExportError) as caught:
        export_dataset(provenance, wanted(), tmp_path / "d")
    assert (caught.value.code, caught.value.got) == ("cannot_write", "Permission denied")


def test_pairs_that_a_shape_cannot_say_refuse_the_whole_export(made: tuple[Desk, Round], tmp_path: Path) -> None:
    with pytest.raises(ExportError) as caught:
        signed_export(*made, tmp_path / "d", "trl-plain")
    # five of the nine have messages; the first of them in the signed order is named
    assert caught.value.code == "pair_does_not_fit" and "5 of 9" in caught.value.got and "'chat-1'" in caught.value.got
    assert "--format trl" in caught.value.remedy and not any(tmp_path.iterdir())


def test_template_settings_stand_in_every_row_once_one_has_them(tmp_path: Path) -> None:
    # TRL unpacks the column of each row: an object, never null
    rows = [*CHAT, pair(pair_id="k", prompt="Think.", chosen="Yes.", rejected="No.", chat_template_kwargs={"mode": "slow"})]
    desk, source = approved_round(tmp_path, rows, alone=True)
    done = signed_export(desk, source, tmp_path / "d", extras=("pair-ids",), parquet=True)
    assert {row["pair_id"]: row["chat_template_kwargs"] for row in rows_of(done)} == {"chat-1": {}, "chat-2": {}, "k": {"mode": "slow"}}
    table = pq.read_table(done.folder / "train.parquet").to_pylist()
    assert [json.loads(row["chat_template_kwargs"]) for row in table] == [row["chat_template_kwargs"] for row in rows_of(done)]


def test_what_openais_rows_said_besides_comes_back(tmp_path: Path) -> None:
    rows = [pair(pair_id="o", prompt=[say("user", "q")], chosen=[say("assistant", "a")], rejected=[say("assistant", "b")],
                 input={"parallel_tool_calls": False})]
    desk, source = approved_round(tmp_path, rows, alone=True)
    (row,) = rows_of(signed_export(desk, source, tmp_path / "d", "openai"))
    assert row["input"] == {"messages": [say("user", "q")], "parallel_tool_calls": False}
    (row,) = rows_of(signed_export(desk, source, tmp_path / "t"))
    assert set(row) == {"prompt", "chosen", "rejected"}


def test_longer_answers_as_single_turns(made: tuple[Desk, Round], tmp_path: Path) -> None:
    done = signed_export(*made, tmp_path / "d", "openai", turns="divergence")
    assert done.facts.rows == 9 and done.facts.cut == 1  # tool-1 goes on after its call
    assert any("1 of 9 pairs had turns after" in note for note in done.facts.notes())


@pytest.mark.parametrize(("shape", "more"), [
    ("openai", {"extras": ("pair-ids",)}), ("openrlhf", {"extras": ("reference-logps",)}),
    ("trl", {"extras": ("reference-logps",), "turns": "divergence"}), ("trl", {"extras": ("scores",)}),
])
def test_columns_that_would_be_wrong_are_refused(made: tuple[Desk, Round], tmp_path: Path, shape: str, more: Any) -> None:
    # the service reads no other members; the reader has no such column; other turns have other log-probabilities; no pair has scores
    with pytest.raises(ExportError) as caught:
        signed_export(*made, tmp_path / "d", shape, **more)
    assert caught.value.code == "column_not_possible"


def test_added_columns_have_the_fields_own_names(tmp_path: Path) -> None:
    rows = [pair(pair_id="s-1", chosen_score=9, rejected_score=2.5), pair(pair_id="s-2", prompt="Other.", chosen="Yes.", chosen_score=3)]
    desk, source = approved_round(tmp_path, rows, alone=True)
    done = signed_export(desk, source, tmp_path / "d", "trl-plain", extras=("pair-ids", "scores", "reference-logps"), parquet=True)
    first, second = rows_of(done)
    # support_export: the reference's log-probability of the chosen side is -22 - place/4
    assert first == {"prompt": "Set retries.", "chosen": "Set retries to 3.", "rejected": "No.", "pair_id": "s-1", "score_chosen": 9.0,
                     "score_rejected": 2.5, "ref_chosen_logps": -22.0, "ref_rejected_logps": -24.0}
    assert (second["score_chosen"], second["score_rejected"], second["ref_chosen_logps"]) == (3.0, None, -22.25)
    assert any("sums over the completion's tokens" in note for note in done.facts.notes())


def test_an_empty_list_of_pairs_is_no_dataset() -> None:
    # the peer: "ValueError: no_preference_pairs"
    with pytest.raises(ExportError) as caught:
        admitted_ranks(b"[]")
    assert caught.value.code == "no_pairs"


# only from an approval


def test_a_round_that_nobody_approved_is_refused(tmp_path: Path) -> None:
    desk, _ = approved_round(tmp_path, [])
    source = round_with(desk, CHAT, "r2")
    for step in (lambda: None, lambda: desk.propose(source), lambda: desk.sign(desk.prepare(source, choice="reject", comment="No."))):
        step()
        with pytest.raises(NotApproved) as caught:
            signed_export(desk, source, tmp_path / "d")
        assert caught.value.code == "not_approved" and caught.value.exit_code == 3
    assert not (tmp_path / "d").exists()


def test_a_refusal_of_the_engine_has_no_approval_to_export(tmp_path: Path) -> None:
    desk, _ = approved_round(tmp_path, [])
    source = round_with(desk, CHAT, "r2", {"holdout_lock": {"sha256": "0" * 64}})
    desk.propose(source)
    with pytest.raises(EngineRefusal):
        desk.sign(desk.prepare(source))
    with pytest.raises(NotApproved):
        signed_export(desk, source, tmp_path / "d")
    # without an approval, and said so
    assert "Refuse" in (unsigned_export(desk, source, tmp_path / "u").folder / "README.md").read_text("utf-8")


def spoil_text(desk: Desk, source: Round) -> None:
    spoil(source.path / "text.parquet")


def spoil_evidence(desk: Desk, source: Round) -> None:
    for path in (desk.workspace.ledger_file.parent / "evidence").iterdir():
        spoil(path)


def spoil(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("harm", [spoil_text, spoil_evidence])
def test_changed_files_are_no_dataset(tmp_path: Path, harm: Any) -> None:
    desk, source = approved_round(tmp_path, CHAT)
    harm(desk, source)
    with pytest.raises(DigestMismatch):
        signed_export(desk, source, tmp_path / "d")
    assert not (tmp_path / "d").exists()


def test_a_signature_that_does_not_hold_here_is_no_approval(tmp_path: Path) -> None:
    desk, source = approved_round(tmp_path, CHAT)
    desk.write_registry(desk.curator, desk.ben)  # the reviewer is not enrolled in this registry
    with pytest.raises(CountersignError) as caught:
        signed_export(desk, source, tmp_path / "d")
    assert caught.value.exit_code in (3, 5) and not (tmp_path / "d").exists()
    desk.workspace.registry_file.unlink()
    with pytest.raises(NotApproved):
        signed_export(desk, source, tmp_path / "d")


def test_unsigned_is_written_where_people_and_programs_look(made: tuple[Desk, Round], tmp_path: Path) -> None:
    done = unsigned_export(*made, tmp_path / "d")
    card = (done.folder / "README.md").read_text("utf-8")
    front = front_of(card)
    assert UNSIGNED in card and "unsigned" in front["tags"]
    assert front["countersign"]["signed"] is False and front["countersign"]["receipt_sha256"] is None and front["countersign"]["approvals"] == []
    assert UNSIGNED in json.loads((done.folder / "croissant.json").read_text("utf-8"))["description"]
    assert not (done.folder / "evidence").exists()
    assert "Approved." not in card and "verifier" not in card  # an approval that was not asked for is not claimed
    signed = signed_export(*made, tmp_path / "s")
    assert (done.folder / "train.jsonl").read_bytes() == (signed.folder / "train.jsonl").read_bytes()
    assert UNSIGNED not in (signed.folder / "README.md").read_text("utf-8")


def test_an_assessment_that_was_changed_is_no_unsigned_dataset(tmp_path: Path) -> None:
    desk, source = approved_round(tmp_path, CHAT)
    (path,) = desk.workspace.assessments_dir.rglob("admitted_pairs.json")
    spoil(path)
    with pytest.raises(CountersignError):
        unsigned_export(desk, source, tmp_path / "d")
    assert not (tmp_path / "d").exists()


# what stands beside the data


def test_the_front_matter(made: tuple[Desk, Round], tmp_path: Path) -> None:
    done = signed_export(*made, tmp_path / "d", parquet=True, license="cc-by-4.0", languages=("en", "es"))
    front = front_of((done.folder / "README.md").read_text("utf-8"))
    provenance = done.facts.provenance
    assert provenance.decision is not None
    size = (done.folder / "train.parquet").stat().st_size
    assert front["license"] == "cc-by-4.0" and front["language"] == ["en", "es"]
    assert front["task_categories"] == ["text-generation"] and front["size_categories"] == ["n<1K"] and "dpo" in front["tags"]
    assert front["configs"] == [{"config_name": "default", "data_files": [{"split": "train", "path": "train.parquet"}]}]
    info = front["dataset_info"]
    # num_bytes: rows in memory, as datasets measures them (tests/clients compares)
    memory = done.facts.memory
    assert info["splits"] == [{"name": "train", "num_bytes": memory, "num_examples": 9}]
    assert (info["download_size"], info["dataset_size"]) == (size, memory)
    assert [item["name"] for item in info["features"]] == ["prompt", "chosen", "rejected", "tools"]
    assert front["countersign"] == {
        "signed": True, "statement": "approved", "receipt_sha256": sha256_hex((done.folder / "evidence" / "receipt.json").read_bytes()),
        "round_digest": made[1].digest, "grid_digest": default_grid().digest, "admitted_pairs_sha256": provenance.admitted_sha256,
        "approvals": [provenance.approvals[0].envelope_sha256], "engine_version": provenance.decision["engine_version"],
        "code_digest": provenance.decision["code_digest"], "format": "trl", "turns": "as-reviewed",
    }


def test_license_and_language_are_not_made_up(made: tuple[Desk, Round], tmp_path: Path) -> None:
    card = (signed_export(*made, tmp_path / "d").folder / "README.md").read_text("utf-8")
    front = front_of(card)
    assert front["license"] == "unknown" and "language" not in front
    assert "License: unknown. Nobody stated one" in card and "Language: not declared." in card


def test_the_card_says_who_signed_and_where_the_pairs_went(made: tuple[Desk, Round], tmp_path: Path) -> None:
    card = (signed_export(*made, tmp_path / "d").folder / "README.md").read_text("utf-8")
    # the worked example's five pairs, of which two are admitted, and our seven
    assert "12 in = 9 admitted + 3 rejected + 0 held + 0 quarantined" in card
    assert "| `length_bias` | 1 |" in card and "approved by `worker-verifier-02`" in card and "proposed by `worker-curator-01`" in card
    assert made[1].digest in card and default_grid().digest in card


HOSTILE = "x\n---\nlicense: mit\n`<script>alert(1)</script>` ![i](http://evil) | \u202e\u200b\x1b[31m ``` \U0001f600\\"


def test_hostile_names_stay_text_in_the_card(tmp_path: Path) -> None:
    model = {"name": HOSTILE[:200], "digest": None}
    about = {"baseline": model, "candidate": model, "policy": model, "reference": model, "label": "<img src=x onerror=alert(1)>",
             "judges": {HOSTILE: {"name": HOSTILE[:200], "version": "`", "rubric": None, "rubric_sha256": None}}}
    desk, source = approved_round(tmp_path, CHAT, about=about)
    done = signed_export(desk, source, tmp_path / "d", title="`</title>`\n# Another", extras=("pair-ids",))
    card = (done.folder / "README.md").read_text("utf-8")
    front = front_of(card)
    assert front["license"] == "unknown" and front["pretty_name"] == "`</title>`␊# Another"
    body = card.split("---\n", 2)[2]
    # with code spans taken out (CommonMark: a run of back-ticks up to the next run of the same length) nothing of it is left
    left = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", body)
    for piece in ("<", "script", "evil", "license: mit", "alert"):
        assert piece not in left, piece
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e\u200b]", card)
    assert len(re.findall(r"^# ", body, re.MULTILINE)) == 1
    parse_json((done.folder / "croissant.json").read_bytes())


@pytest.mark.parametrize("text", ["", "`", "``a`", "a`b``c", " a ", "<b>", "a|b", "a\nb", "\\`"])
def test_a_code_span_ends_where_it_should(text: str) -> None:
    span = code(text)
    match = re.fullmatch(r"(`+)( ?)(.*?)\2\1", span)
    assert match is not None and "\n" not in span
    assert match.group(1) not in re.findall(r"`+", match.group(3))


def test_scalars_of_the_front_matter_are_quoted() -> None:
    assert scalar('a: "b" # c\n- d') == '"a: \\"b\\" # c␊- d"'
    assert [scalar(value) for value in (None, True, 3, 0.5, "no")] == ["null", "true", "3", "0.5", '"no"']
    assert list(yaml_lines({"a": [], "b": {}, "c": [{"d": 1, "e": ["f"]}]})) == ["a: []", "b: {}", "c:", "  - d: 1", "    e:", '      - "f"']


def test_brackets_of_size() -> None:
    # the Hub's own: a thousand is no longer below 1K
    assert [size_category(rows) for rows in (1, 999, 1000, 99_999, 100_000, 2_000_000)] == [
        "n<1K", "n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M"]


def test_the_recipe_spells_beta_and_alpha_for_each_trainer(made: tuple[Desk, Round], tmp_path: Path) -> None:
    done = signed_export(*made, tmp_path / "d", parquet=True)
    recipe = json.loads((done.folder / "training-recipe.json").read_text("utf-8"))
    assert (recipe["objective"]["beta"], recipe["objective"]["alpha"]) == ("0.1", "1.0")  # default_grid_spec.json
    settings = {name: entry["settings"] for name, entry in recipe["trainers"].items()}
    # formats.md: DPO / RPO settings
    assert settings["trl"] == {"beta": 0.1, "loss_type": ["sigmoid", "sft"], "loss_weights": [1.0, 1.0]}
    assert settings["ms-swift"] == {"rlhf_type": "dpo", "beta": 0.1, "rpo_alpha": 1.0}
    # OpenRLHF's options moved into groups, train_dpo's beta and nll_loss_coef into "model" (its pull request 1275 on the README)
    assert settings["openrlhf"] == {"model.beta": 0.1, "model.nll_loss_coef": 1.0}
    assert settings["openrlhf-older"] == {"beta": 0.1, "nll_loss_coef": 1.0}
    assert settings["llamafactory"] == {"stage": "dpo", "pref_loss": "sigmoid", "pref_beta": 0.1, "pref_ftx": 1.0}
    # axolotl's pull requests 3560 and 3566: rpo_alpha went with TRL 0.29, dpo_loss_type and dpo_loss_weights are lists
    assert settings["axolotl"] == {"rl": "dpo", "rl_beta": 0.1, "dpo_loss_type": ["sigmoid", "sft"], "dpo_loss_weights": [1.0, 1.0]}
    assert settings["axolotl-older"] == {"rl": "dpo", "rl_beta": 0.1, "rpo_alpha": 1.0}
    # TRL's pull request 1904 (0.10): before it rpo_alpha was the weight of the DPO term
    assert (settings["trl-older"]["rpo_alpha"], recipe["trainers"]["trl-older"]["versions"]) == (1.0, "TRL 0.10 to 0.28")
    text = (done.folder / "training-recipe.md").read_text("utf-8")
    card = (done.folder / "README.md").read_text("utf-8")
    for page in (text, card, *recipe["notes"][:1]):
        assert "per-pair mean" in page and "token mean over the batch" in page and "differs" in page


def test_croissant_names_the_files_with_their_digests(made: tuple[Desk, Round], tmp_path: Path) -> None:
    done = signed_export(*made, tmp_path / "d", parquet=True)
    document = json.loads((done.folder / "croissant.json").read_text("utf-8"))
    assert (document["@type"], document["conformsTo"]) == ("sc:Dataset", "http://mlcommons.org/croissant/1.1")
    assert {item["name"]: item["sha256"] for item in document["distribution"]} == {
        name: hashlib.sha256((done.folder / name).read_bytes()).hexdigest() for name in ("train.jsonl", "train.parquet")}
    (records,) = document["recordSet"]
    assert [field["name"] for field in records["field"]] == ["prompt", "chosen", "rejected", "tools"]
    assert {source["fileObject"]["@id"] for source in sources(records)} == {"train.parquet"}


def sources(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [found for item in value for found in sources(item)]
    if isinstance(value, dict):
        return [*([value["source"]] if "source" in value else []), *(found for item in value.values() for found in sources(item))]
    return []


def test_croissant_has_no_field_for_objects_of_json_lines(made: tuple[Desk, Round], tmp_path: Path) -> None:
    document = json.loads((signed_export(*made, tmp_path / "d").folder / "croissant.json").read_text("utf-8"))
    (records,) = document["recordSet"]
    assert [field["name"] for field in records["field"]] == ["prompt", "rejected"] and "chosen, tools" in records["description"]


def test_the_holdout_rules_as_preregistrations(made: tuple[Desk, Round], tmp_path: Path) -> None:
    done = signed_export(*made, tmp_path / "d")
    text = (done.folder / "regression-rate.prml.yaml").read_text("utf-8")
    value, _ = _block(text.splitlines(), 0, 0)
    assert value.pop("claim_id") and re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}", re.findall(r'"(.+)"', text)[1])
    assert value == {
        "version": "prml/0.1", "created_at": "2026-01-05T12:00:00Z", "metric": "regression_rate", "comparator": "<=", "threshold": 0.05,
        "dataset": {"id": "holdout of r1", "hash": made[1].holdout_digest}, "seed": 0, "producer": {"id": "worker-curator-01"},
    }
    # a rule that the grid leaves out is no claim
    assert "min_net_holdout_gain" not in default_grid() and not (done.folder / "net-holdout-gain.prml.yaml").exists()


def test_a_column_of_times_is_warned_about(tmp_path: Path) -> None:
    # the other kinds of text that ids and prompts look like are in ROWS (case 21)
    rows = [pair(pair_id="t", prompt="2024-01-05", chosen="2024-01-06", rejected="2024-01-07")]
    desk, source = approved_round(tmp_path, rows, alone=True)
    plain = signed_export(desk, source, tmp_path / "d", "trl-plain")
    (note,) = [note for note in plain.facts.notes() if "read as times" in note]
    assert "--parquet" in note and all(f"`{name}`" in note for name in ("prompt", "chosen", "rejected"))
    table = pq.read_table(signed_export(desk, source, tmp_path / "p", "trl-plain", parquet=True).folder / "train.parquet")
    assert table.to_pylist() == [{"prompt": "2024-01-05", "chosen": "2024-01-06", "rejected": "2024-01-07"}]


def test_json_of_an_export_is_strict(made: tuple[Desk, Round], tmp_path: Path) -> None:
    done = signed_export(*made, tmp_path / "d")
    for name, data in tree(done.folder).items():
        if name.endswith(".json"):
            assert parse_json(data) == json.loads(data)


# as one file


def test_the_zip_holds_the_same_files_and_is_the_same_every_time(made: tuple[Desk, Round], tmp_path: Path) -> None:
    provenance = signed_provenance(made[0].workspace, made[1], LATER)
    name, data = dataset_zip(provenance, wanted(parquet=True))
    assert dataset_zip(provenance, wanted(parquet=True)) == (name, data)
    assert name == f"r1-trl-{provenance.admitted_sha256[:12]}.zip" and re.fullmatch(r"[a-z0-9-]+\.zip", name)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(tmp_path)
    assert tree(tmp_path / name.removesuffix(".zip")) == tree(signed_export(*made, tmp_path / "d", parquet=True).folder)
    unsigned, _ = dataset_zip(replace(provenance, bundle=None), wanted())
    assert unsigned.startswith("r1-trl-unsigned-")
