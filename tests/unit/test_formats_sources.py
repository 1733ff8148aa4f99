"""The declaration of foreign files: sources of round.json, one file on the command line, what the stored round says, path tricks."""
from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support_formats import DECLARED, codes, column, folder, read, written
from support_rounds import NOW, ROUND, STATED, WORKED_EXAMPLE, bundle, folder_of, ingested, nothing_written, pair, round_of, tables_of, workspace_at

from core.errors import RoundError
from core.rounds.declared import is_plain_name
from core.rounds.folder import Round
from core.rounds.form import check_form
from core.rounds.ingest import ingest
from core.rounds.manifest import RoundManifest
from core.rounds.note import Note, warning
from core.rounds.notes import round_notes
from core.rounds.readers.containers import raw_rows
from core.rounds.readers.format import Declared, Format
from core.rounds.readers.formats import FORMATS
from core.rounds.readers.single import ForeignFile
from core.rounds.reading_notes import storable
from core.rounds.typing_rows import RawRow
from dashboard.blocks import strong, text
from dashboard.overview_view import foreign_files, remarks

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
    assert foreign_files(source.manifest) == [[strong("Pairs: "), text(
        "a.jsonl was read as trl: every row looked at has prompt, chosen and rejected, the answers as text; "
        "declared: flags=dataset_label, ids=line, origin=verified"
    )]]
    plain, _ = ingested(tmp_path / "plain", WORKED_EXAMPLE)
    assert not foreign_files(plain.manifest)


def test_what_a_reader_remarked_is_stored_and_shown_to_the_reviewer(tmp_path: Path) -> None:
    """No file of the round tells afterwards that a coercion was applied: here that pairs of equal grades were kept."""
    rows = [ROW | {"chosen_rating": 4, "rejected_rating": 4}, ROW | {"prompt": "Bye.", "chosen_rating": 5, "rejected_rating": 1}]
    source, report = read(tmp_path, "a.jsonl", rows, "argilla", ties="keep")
    kept = [note for note in report.notes if "a.jsonl" in note.text and note.code == "tied_score"]
    assert len(kept) == 1 and list(report.notes).count(kept[0]) == 1
    document = json.loads((source.path / "round.json").read_text("utf-8"))
    assert document["schema_version"] == 7 and kept[0].document() in document["reading_notes"]
    opened = Round.open(source.path, digest=report.digest)
    assert opened.manifest == source.manifest and kept[0] in round_notes(opened)
    assert text(kept[0].text) in [span for remark in remarks(round_notes(opened)) for span in remark]


def test_warnings_come_first_and_what_the_page_says_elsewhere_is_left_out() -> None:
    found = remarks([Note("a", "rare"), Note("foreign_format", "in the facts"), warning("b", "probably wrong")])
    assert [remark[-1] for remark in found] == [text("probably wrong"), text("rare")]
    assert [len(remark) for remark in found] == [3, 1] and found[0][0]["k"] == "badge"


def test_one_remark_is_stored_once_and_a_long_one_is_shortened() -> None:
    note = Note("extra_columns", "x" * 9_000)
    (stored,) = storable([note, note])
    assert stored.text.startswith("x" * 2_000) and len(stored.text) < 2_100 and stored.code == "extra_columns"


@pytest.mark.parametrize(("notes", "code"), [
    ([], "wrong_type"), ("none", "wrong_type"), ([["a"]], "wrong_type"), ([{"code": "a", "text": "b"}], "missing_field"),
    ([{"code": "a", "text": "b", "severity": "loud"}], "unknown_value"), ([{"code": "a", "text": "", "severity": "note"}], "empty_text"),
])
def test_remarks_that_are_none_make_no_round(tmp_path: Path, notes: object, code: str) -> None:
    source, _ = read(tmp_path, "a.jsonl", [ROW | {"more": 1}])
    document = source.manifest.document()
    assert document["schema_version"] == 7 and document["reading_notes"][0]["code"] == "extra_columns"
    with pytest.raises(RoundError) as caught:
        RoundManifest.from_document(document | {"reading_notes": notes})
    assert caught.value.code == code


def test_remarks_are_the_readers_and_only_about_declared_files(tmp_path: Path) -> None:
    remark = [Note("extra_columns", "pairs: more").document()]
    error = refused(tmp_path, folder(tmp_path / "input", {"pairs": [SOURCE]}, {"a.jsonl": [ROW]}, reading_notes=remark))
    assert error.code == "unknown_key"
    plain, _ = ingested(tmp_path / "plain", WORKED_EXAMPLE)
    with pytest.raises(RoundError) as caught:
        RoundManifest.from_document(plain.manifest.document() | {"reading_notes": remark, "schema_version": 7})
    assert caught.value.code == "unknown_value" and "sources" in str(caught.value)


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
    # train.jsonl, which is declared nowhere, is what was meant
    assert (error.code, error.remedy) == ("no_such_file", "did you mean 'train.jsonl'?")
    error = refused(tmp_path, folder(tmp_path / "two", {"pairs": [SOURCE, SOURCE | {"file": "aa.jsonl"}]}, {"a.jsonl": [ROW]}))
    assert (error.code, error.remedy) == ("no_such_file", "did you mean 'a.jsonl'?")


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    secret = written(tmp_path, "secret.jsonl", [ROW])
    place = folder(tmp_path / "input", {"pairs": [SOURCE]}, {})
    (place / "a.jsonl").symlink_to(secret)
    assert refused(tmp_path, place).code == "link"


@pytest.mark.parametrize("name", ["pairs.jsonl", "round.json", "holdout.json"])
def test_a_part_of_our_own_that_is_a_link_is_not_followed(tmp_path: Path, name: str) -> None:
    """Otherwise a proposer's folder could name a file of the machine that ingests it, and its rows would lie in quarantine for good."""
    secret = tmp_path / "secret"
    secret.write_text("a passphrase\n", "utf-8")
    place = folder(tmp_path / "input", {}, {})
    (place / name).unlink(missing_ok=True)
    (place / name).symlink_to(secret)
    error = refused(tmp_path, place)
    assert error.code == "link" and error.where is not None and error.where.file == name


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
    with pytest.raises(RoundError) as caught:
        ingest(written(tmp_path, "a.json", [ROW]), workspace_at(tmp_path), now=NOW)
    assert caught.value.code == "wrong_type" and "--format" in caught.value.remedy


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


# a holdout out of a foreign file


@pytest.fixture
def holdout_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """A format of holdout items, as an evaluation tool's documents would be one."""
    def rows(declared: Declared) -> Iterator[RawRow]:
        for row in raw_rows(declared.path, declared.file, declared.notes):
            value = row.value
            yield RawRow(row.line, {"id": value["key"], "prompt": value["text"], **value.get("more", {})}, row.raw)

    monkeypatch.setitem(FORMATS, "test-items", Format("test-items", "holdout", "items of a test", rows, lambda first, path: None))  # type: ignore[index]


ITEMS = [{"key": "h1", "text": "Add 2 and 3."}, {"key": "h2", "text": "Name the capital of Chile."}]
ITEMS_DIGEST = "551296812c0808647a72455e5d6a7c3ae537fed032254e569cb2a9ef20699bda"
"""Of the holdout with these two items (tests/fixtures/oracles/holdout_digest.json, two_items)."""


def items_folder(place: Path, files: dict[str, Any], **about: Any) -> Path:
    sources = {"holdout": [{"file": name, "format": "test-items"} for name in files]}
    return folder(place, sources, files, **about)


@pytest.mark.usefixtures("holdout_format")
def test_items_of_a_foreign_file_are_hashed_like_any_other(tmp_path: Path) -> None:
    place = items_folder(tmp_path / "input", {"a.jsonl": ITEMS}, holdout_lock={"sha256": ITEMS_DIGEST})
    source, report = ingested(tmp_path, place)
    assert (report.counts, source.holdout_digest) == ({"holdout": 2}, ITEMS_DIGEST)


@pytest.mark.usefixtures("holdout_format")
@pytest.mark.parametrize(("files", "code"), [
    ({"a.jsonl": ITEMS, "b.jsonl": ITEMS}, "part_given_twice"), ({"a.jsonl": [*ITEMS, ITEMS[0]]}, "duplicate_holdout_id"),
    ({"a.jsonl": []}, "empty_holdout"),
    ({"a.jsonl": [ITEMS[0] | {"more": {"level": 1.0}}]}, "ambiguous_number"), ({"a.jsonl": [ITEMS[0] | {"key": 7}]}, "wrong_type"),
])
def test_items_of_a_foreign_file_are_checked(tmp_path: Path, files: dict[str, Any], code: str) -> None:
    error = refused(tmp_path, items_folder(tmp_path / "input", files, holdout_lock={"sha256": ITEMS_DIGEST}))
    assert error.code == code


@pytest.mark.usefixtures("holdout_format")
def test_a_holdout_needs_its_lock_and_a_folder(tmp_path: Path) -> None:
    assert refused(tmp_path, items_folder(tmp_path / "input", {"a.jsonl": ITEMS})).code == "missing_lock"
    with pytest.raises(RoundError) as caught:
        ingest(written(tmp_path, "a.jsonl", ITEMS), workspace_at(tmp_path), now=NOW, foreign=ForeignFile("test-items", ("ana",), {}))
    assert caught.value.code == "part_needs_a_folder"
