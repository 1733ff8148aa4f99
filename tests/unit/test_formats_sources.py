"""The declaration of foreign files: sources of round.json, one file on the command line, what the stored round says, path tricks."""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support_formats import DECLARED, codes, column, folder, read, written
from support_rounds import NOW, ROUND, STATED, WORKED_EXAMPLE, bundle, folder_of, ingested, nothing_written, pair, round_of, tables_of, workspace_at

from core.errors import RoundError
from core.grid import default_grid
from core.rounds.declared import is_plain_name
from core.rounds.folder import Round
from core.rounds.form import check_form
from core.rounds.ingest import ingest
from core.rounds.manifest import RoundManifest
from core.rounds.notes import round_notes
from core.rounds.readers.single import ForeignFile
from dashboard.blocks import text
from dashboard.overview_view import facts_rows

ROW = {"prompt": "Say hi.", "chosen": "Hi.", "rejected": "No."}
SOURCE = {"file": "a.jsonl", "format": "trl", "options": DECLARED}


def refused(place: Path, source: Path) -> RoundError:
    with pytest.raises(RoundError) as caught:
        ingested(place, source)
    assert caught.value.exit_code == 4 and nothing_written(place)
    return caught.value


def test_a_folder_with_declared_files_and_tables(tmp_path: Path) -> None:
    """Two foreign files of one part, beside the worked example's own tables."""
    sources = {"pairs": [SOURCE, {"file": "b.json.gz", "format": "auto", "options": DECLARED}]}
    place = folder(tmp_path / "input", sources, {"a.jsonl": [ROW], "b.json.gz": [ROW, ROW]}, **{**round_of(bundle()), "round_id": "r"})
    parts = {name: rows for name, rows in tables_of(bundle()).items() if name != "pairs"}
    folder_of(place, parts, about=json.loads((place / "round.json").read_text("utf-8")))
    source, report = ingested(tmp_path, place)
    assert report.counts == {"judge_records": 14, "pairs": 3, "holdout": 5, "outcomes": 10, "sanity": 4}
    assert column(source, "pair_id") == ["a-000001", "b-000001", "b-000002"]
    assert list(zip(column(source, "file"), column(source, "line"), strict=True)) == [("a.jsonl", 1), ("b.json.gz", 1), ("b.json.gz", 2)]
    check_form(source)


def test_the_stored_round_says_what_was_declared_and_why(tmp_path: Path) -> None:
    sources = {"pairs": [SOURCE, {"file": "b.jsonl", "format": "auto", "options": DECLARED}]}
    source, report = ingested(tmp_path, folder(tmp_path / "input", sources, {"a.jsonl": [ROW], "b.jsonl": [ROW]}))
    document = json.loads((source.path / "round.json").read_text("utf-8"))
    why = "every row looked at has prompt, chosen and rejected, the answers as text"
    assert document["sources"] == {"pairs": [
        {"file": "a.jsonl", "format": "trl", "options": DECLARED, "why": "declared by the proposer"},
        {"file": "b.jsonl", "format": "trl", "options": DECLARED, "why": why},
    ]}
    assert document["schema_version"] == 3
    opened = Round.open(source.path, digest=report.digest)
    assert opened.manifest == source.manifest == RoundManifest.from_document(document)
    said = [note.text for note in round_notes(opened) if note.code == "foreign_format"]
    assert said == [
        "pairs: a.jsonl was read as trl: declared by the proposer; declared: ids=line, origin=verified",
        f"pairs: b.jsonl was read as trl: {why}; declared: ids=line, origin=verified",
    ]


def test_a_reviewer_is_shown_what_was_declared(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [ROW], flags="dataset_label")
    document = {"round_digest": source.digest, "literal_gate": {"violations": [], "files": 1}, "engine_version": "1", "code_digest": "0" * 64}
    rows = dict(facts_rows(document, source.manifest, default_grid()))
    assert rows["Foreign pairs"] == [text(
        "a.jsonl was read as trl: every row looked at has prompt, chosen and rejected, the answers as text; "
        "declared: flags=dataset_label, ids=line, origin=verified"
    )]
    plain, _ = ingested(tmp_path / "plain", WORKED_EXAMPLE)
    assert not [name for name in dict(facts_rows(document, plain.manifest, default_grid())) if name.startswith("Foreign")]


def test_rounds_without_sources_are_stored_as_before(tmp_path: Path) -> None:
    """A round's digest hangs on every key of its round.json (and on the Parquet bytes of the installed pyarrow, so it is no constant here)."""
    keys = {
        "schema_version", "round_id", "form", "label", "previous_receipt_sha256", "proposers", "reviewer", "baseline", "candidate", "policy",
        "reference", "holdout_lock", "created_at", "note", "parts", "receipt_judges", "verification", "judges", "files",
    }
    tables = folder_of(tmp_path / "input", tables_of(bundle()), about=round_of(bundle()))
    for place, path in (("a", WORKED_EXAMPLE), ("b", tables)):
        source, _ = ingested(tmp_path / place, path, created_at=STATED)
        document = json.loads((source.path / "round.json").read_text("utf-8"))
        assert set(document) == keys and document["schema_version"] == 1


def test_one_file_and_a_folder_with_it_say_the_same(tmp_path: Path) -> None:
    path = written(tmp_path / "one", "a.jsonl", [ROW])
    workspace = workspace_at(tmp_path)
    report = ingest(path, workspace, now=NOW, created_at=STATED, foreign=ForeignFile("trl", ("worker-curator-01",), DECLARED))
    place = folder(tmp_path / "input", {"pairs": [SOURCE]}, {"a.jsonl": [ROW]}, round_id="a")
    again = ingest(place, workspace, now=NOW, created_at=STATED)
    assert (again.digest, again.already_present) == (report.digest, True)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.csv", "a.parquet", "a.json"])
def test_progress_is_told_in_rows_or_in_bytes_of_the_file(tmp_path: Path, name: str) -> None:
    """20,000 rows come in batches of 8,192. Lines that nobody counted are told by the bytes of their file as it lies on the disk."""
    texts_of = [f"{number} {'x' * 50}" for number in range(20_000)]
    rows = [ROW | {"prompt": text_of} for text_of in texts_of]
    lines_of = "prompt,chosen,rejected\n" + "".join(f"{text_of},c,r\n" for text_of in texts_of)
    path = written(tmp_path, name, lines_of.encode() if name == "a.csv" else rows)
    options = DECLARED | ({f"column.{side}": side for side in ("prompt", "chosen", "rejected")} if name == "a.csv" else {})
    seen: list[tuple[str, int, int | None]] = []
    foreign = ForeignFile("csv" if name == "a.csv" else "trl", ("worker-curator-01",), options)
    ingest(path, workspace_at(tmp_path), now=NOW, foreign=foreign, progress=lambda *told: seen.append(told))
    done = [told[1] for told in seen]
    assert len(seen) == 3 and done == sorted(done)
    if name in ("a.parquet", "a.json"):
        assert seen == [("pairs", count, 20_000 if name == "a.parquet" else None) for count in (8192, 16384, 20_000)]
    else:
        size = path.stat().st_size
        assert {(told[0], told[2]) for told in seen} == {("pairs, bytes", size)}
        # a packed file as small as this is taken off the disk at once
        assert 0 < done[0] <= done[-1] == size and (done[0] < size or name.endswith((".gz", ".zst")))


def test_labels_have_to_be_said_in_round_json(tmp_path: Path) -> None:
    options = DECLARED | {"flags": "dataset_label"}
    sources = {"pairs": [{"file": "a.jsonl", "format": "trl", "options": options}]}
    error = refused(tmp_path / "a", folder(tmp_path / "a" / "input", sources, {"a.jsonl": [ROW]}))
    assert (error.code, error.got) == ("verification_differs", "program")
    source, _ = ingested(tmp_path / "b", folder(tmp_path / "b" / "input", sources, {"a.jsonl": [ROW]}, verification="dataset_label"))
    assert (column(source, "chosen_verified_pass"), column(source, "rejected_tombstone_fail")) == ([True], [True])
    single, _ = read(tmp_path / "c", "a.jsonl", [ROW], flags="dataset_label")
    assert single.manifest.verification == "dataset_label"


# what a declaration may not say


@pytest.mark.parametrize(("sources", "field", "code"), [
    ([], "sources", "wrong_type"), ("pairs", "sources", "wrong_type"),
    ({"pair": [SOURCE]}, "sources.pair", "unknown_key"), ({"pairs": []}, "sources.pairs", "wrong_type"),
    ({"pairs": SOURCE}, "sources.pairs", "wrong_type"),
    ({"pairs": ["a.jsonl"]}, "sources.pairs", "wrong_type"), ({"pairs": [SOURCE, SOURCE]}, "sources.pairs[1]", "source_given_twice"),
    ({"pairs": [{"file": "a.jsonl"}]}, "sources.pairs[0].format", "missing_field"),
    ({"pairs": [SOURCE | {"why": "because"}]}, "sources.pairs[0].why", "unknown_key"),
    ({"pairs": [SOURCE | {"path": "a"}]}, "sources.pairs[0].path", "unknown_key"),
    ({"pairs": [SOURCE | {"options": {"ids": 1}}]}, "sources.pairs[0].options.ids", "wrong_type"),
    ({"pairs": [SOURCE | {"options": {"ids": True}}]}, "sources.pairs[0].options.ids", "wrong_type"),
    ({"pairs": [SOURCE | {"options": {"ids": ""}}]}, "sources.pairs[0].options.ids", "empty_text"),
    ({"pairs": [SOURCE | {"options": {"column.pair_id": "x" * 257}}]}, "sources.pairs[0].options.column.pair_id", "text_too_long"),
    ({"pairs": [SOURCE | {"options": ["ids"]}]}, "sources.pairs[0].options", "wrong_type"),
    ({"pairs": [SOURCE | {"format": ""}]}, "sources.pairs[0].format", "empty_text"),
])
def test_a_declaration_is_read_strictly(tmp_path: Path, sources: Any, field: str, code: str) -> None:
    error = refused(tmp_path, folder(tmp_path / "input", sources, {"a.jsonl": [ROW]}))
    assert (error.code, str(error.where)) == (code, f"round.json, field {field}")


@pytest.mark.parametrize("name", [
    "../a.jsonl", "..", ".", "/etc/passwd", "sub/a.jsonl", "sub\\a.jsonl", "C:\\a.jsonl", "C:a.jsonl", "\\\\host\\share\\a.jsonl", "a.jsonl/",
    "./a.jsonl", "a\x00.jsonl",
])
def test_a_file_is_named_alone(tmp_path: Path, name: str) -> None:
    assert not is_plain_name(name)
    (tmp_path / "a.jsonl").write_text(json.dumps(ROW), "utf-8")
    error = refused(tmp_path, folder(tmp_path / "input", {"pairs": [SOURCE | {"file": name}]}, {}))
    assert (error.code, str(error.where)) == ("not_a_plain_name", "round.json, field sources.pairs[0].file")


@pytest.mark.parametrize("name", ["a.jsonl", "Ä b.jsonl", "...jsonl", ".hidden.jsonl", "-rf", "a'b\"c", "~", "%2e%2e"])
def test_names_that_are_only_odd_pass(name: str) -> None:
    assert is_plain_name(name)


def test_a_file_that_is_not_there_is_named_with_the_nearest(tmp_path: Path) -> None:
    error = refused(tmp_path, folder(tmp_path / "input", {"pairs": [SOURCE | {"file": "trian.jsonl"}]}, {"train.jsonl": [ROW]}))
    assert error.code == "unknown_part"  # train.jsonl itself is declared nowhere
    error = refused(tmp_path, folder(tmp_path / "two", {"pairs": [SOURCE, SOURCE | {"file": "aa.jsonl"}]}, {"a.jsonl": [ROW]}))
    assert (error.code, error.remedy) == ("no_such_file", "did you mean 'a.jsonl'?")


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    secret = written(tmp_path, "secret.jsonl", [ROW])
    place = folder(tmp_path / "input", {"pairs": [SOURCE]}, {})
    (place / "a.jsonl").symlink_to(secret)
    assert refused(tmp_path, place).code == "link"


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    place = folder(tmp_path / "input", {"pairs": [SOURCE]}, {})
    os.mkfifo(place / "a.jsonl")
    assert refused(tmp_path, place).code == "no_such_file"


def test_round_json_is_no_source(tmp_path: Path) -> None:
    assert refused(tmp_path, folder(tmp_path / "input", {"pairs": [SOURCE | {"file": "round.json"}]}, {})).code == "wrong_file"


def test_a_part_is_a_table_or_declared(tmp_path: Path) -> None:
    place = folder(tmp_path / "input", {"pairs": [SOURCE]}, {"a.jsonl": [ROW], "pairs.jsonl": [pair()]})
    error = refused(tmp_path, place)
    assert (error.code, error.got) == ("part_given_twice", "the declared a.jsonl and pairs.jsonl")


def test_a_declared_file_may_have_the_name_of_a_table(tmp_path: Path) -> None:
    place = folder(tmp_path / "input", {"pairs": [SOURCE | {"file": "pairs.jsonl"}]}, {"pairs.jsonl": [ROW]})
    source, _ = ingested(tmp_path, place)
    assert column(source, "pair_id") == ["pairs-000001"]


def test_a_format_of_another_part_is_refused(tmp_path: Path) -> None:
    place = folder(tmp_path / "input", {"outcomes": [SOURCE]}, {"a.jsonl": [ROW]})
    assert refused(tmp_path, place).code == "wrong_part"


# one file


def test_a_file_without_a_format_is_told_how(tmp_path: Path) -> None:
    with pytest.raises(RoundError) as caught:
        ingest(written(tmp_path, "a.jsonl", [ROW]), workspace_at(tmp_path), now=NOW)
    assert caught.value.code == "unknown_form" and "--format" in caught.value.remedy


def test_a_folder_has_no_format(tmp_path: Path) -> None:
    with pytest.raises(RoundError) as caught:
        ingest(tmp_path, workspace_at(tmp_path), now=NOW, foreign=ForeignFile("trl", ("a",), {}))
    assert caught.value.code == "is_a_folder"


def test_who_proposes_must_fit_the_grammar(tmp_path: Path) -> None:
    with pytest.raises(RoundError) as caught:
        ingest(written(tmp_path, "a.jsonl", [ROW]), workspace_at(tmp_path), now=NOW, foreign=ForeignFile("trl", ("no spaces here",), DECLARED))
    assert caught.value.where is not None and caught.value.where.field == "--proposer"


def test_an_incomplete_round_is_ingested_and_says_so(tmp_path: Path) -> None:
    source, report = read(tmp_path, "a.jsonl", [ROW])
    assert source.manifest.parts == ("pairs",) and source.manifest.round_id == "a"
    assert "incomplete_round" in codes(report)
    # nothing is made up: no flag, log-prob or token count
    row = source.narrow().to_pylist()[0]
    empty = ("policy_logp_chosen", "ref_logp_rejected", "chosen_token_count", "rejected_token_count", "chosen_verified_pass")
    assert [row[name] for name in empty] == [None] * len(empty)


def test_stored_sources_are_read_strictly(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [ROW])
    document = source.manifest.document()
    entry = document["sources"]["pairs"][0]
    for change, code in (
        ({"sources": {}}, "empty_list"), ({"sources": {"outcomes": [entry]}}, "unknown_value"), ({"schema_version": 1}, "unknown_schema_version"),
        ({"sources": {"pairs": [{name: value for name, value in entry.items() if name != "why"}]}}, "missing_field"),
    ):
        with pytest.raises(RoundError) as caught:
            RoundManifest.from_document(document | change)
        assert caught.value.code == code, change
    assert ROUND["schema_version"] == 1  # a proposer may state any version that is known
