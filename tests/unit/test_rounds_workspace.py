"""A published round: immutable, whole or not there, found by digest, prefix or id; and what a change to its files looks like."""
from __future__ import annotations

import json
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support_processes import interruptible
from support_rounds import (
    NOW,
    STATED,
    WORKED_EXAMPLE,
    bundle,
    bundle_file,
    folder_of,
    ingested,
    nothing_written,
    pair,
    pairs_round,
    workspace_at,
)

from core.canonical import sha256_hex
from core.errors import DigestMismatch, RoundError, WorkspaceError
from core.rounds.folder import Round, aligned_batches, bounded_rows
from core.rounds.ingest import ingest
from core.rounds.manifest import RoundManifest
from core.rounds.workspace import Workspace
from core.rounds.writers import RowGroupWriter


@pytest.fixture
def published(tmp_path: Path) -> Round:
    return ingested(tmp_path, WORKED_EXAMPLE, created_at=STATED)[0]


def writable(path: Path) -> Path:
    path.chmod(0o644)
    return path


def test_files_are_read_only_and_the_folder_is_named_by_its_digest(published: Round) -> None:
    assert published.path.name == published.digest == sha256_hex((published.path / "round.json").read_bytes())
    names = sorted(path.name for path in published.path.iterdir())
    assert names == [
        "holdout.json", "judge_records.parquet", "outcomes.parquet", "pairs.parquet", "quarantine.parquet", "round.json", "sanity.parquet",
        "text.parquet",
    ]
    assert {stat.S_IMODE(path.stat().st_mode) for path in published.path.iterdir()} == {0o444}
    published.verify_files()


def test_the_digest_lists_every_file(published: Round) -> None:
    for name, entry in published.manifest.files.items():
        assert sha256_hex((published.path / name).read_bytes()) == entry.sha256
    assert {name: entry.rows for name, entry in published.manifest.files.items()} == {
        "holdout.json": 5, "judge_records.parquet": 14, "outcomes.parquet": 10, "pairs.parquet": 5, "quarantine.parquet": 0, "sanity.parquet": 4,
        "text.parquet": 5,
    }
    assert published.manifest.digest == published.digest


@pytest.mark.parametrize("name", [
    "holdout.json", "judge_records.parquet", "outcomes.parquet", "pairs.parquet", "quarantine.parquet", "sanity.parquet", "text.parquet",
])
def test_one_flipped_byte_in_any_file_is_named(published: Round, name: str) -> None:
    path = writable(published.path / name)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(DigestMismatch) as caught:
        Round.open(published.path).verify_files()
    assert (caught.value.code, str(caught.value.where), caught.value.exit_code) == ("file_changed", name, 6)


def test_a_changed_round_json_does_not_open(published: Round, tmp_path: Path) -> None:
    path = writable(published.path / "round.json")
    path.write_bytes(path.read_bytes().replace(b'"note":null', b'"note":"ok"'))
    for open_it in (lambda: Round.open(published.path), lambda: workspace_at(tmp_path).round(published.digest)):
        with pytest.raises(DigestMismatch) as caught:
            open_it()
        assert (caught.value.code, str(caught.value.where)) == ("file_changed", "round.json")


def test_a_changed_round_json_is_seen_after_opening_too(published: Round) -> None:
    path = writable(published.path / "round.json")
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(DigestMismatch):
        published.verify_files()


def test_missing_and_strange_files_are_named(published: Round) -> None:
    (published.path / "notes.txt").write_text("hello", "utf-8")
    with pytest.raises(DigestMismatch) as caught:
        published.verify_files()
    assert (caught.value.code, str(caught.value.where)) == ("unexpected_file", "notes.txt")
    (published.path / "notes.txt").unlink()
    (published.path / "sanity.parquet").unlink()
    with pytest.raises(DigestMismatch) as caught:
        published.verify_files()
    assert (caught.value.code, str(caught.value.where)) == ("file_missing", "sanity.parquet")
    with pytest.raises(DigestMismatch):
        published.table("sanity")


def test_a_table_of_other_columns_is_refused(published: Round) -> None:
    pq.write_table(pa.table({"id": ["s"]}), writable(published.path / "sanity.parquet"))
    with pytest.raises(DigestMismatch) as caught:
        published.table("sanity")
    assert caught.value.code == "file_unreadable"


def test_a_changed_holdout_is_not_handed_out(published: Round) -> None:
    path = writable(published.path / "holdout.json")
    path.write_bytes(path.read_bytes().replace(b"h-01", b"h-91"))
    with pytest.raises(DigestMismatch):
        published.holdout_items()


def test_parts_that_were_not_supplied(tmp_path: Path) -> None:
    source, _ = pairs_round(tmp_path, [pair()])
    assert [source.has(part) for part in ("pairs", "holdout", "outcomes")] == [True, False, False]
    assert source.table("outcomes").num_rows == source.table("judge_records").num_rows == 0
    assert (source.holdout_items(), source.holdout_digest) == ([], None)
    with pytest.raises(RoundError):
        source.holdout_bytes()
    alone, _ = ingested(tmp_path / "b", folder_of(tmp_path / "b" / "input", {"sanity": [{"id": "s", "passed": True}]}))
    assert (alone.pair_count, alone.narrow().num_rows, alone.narrow(["pair_id"]).column_names) == (0, 0, ["pair_id"])
    assert list(alone.pair_batches()) == []


def test_batches_cut_at_different_places_are_aligned() -> None:
    def stream(*sizes: int) -> Iterator[pa.RecordBatch]:
        start = 0
        for size in sizes:
            yield pa.record_batch({"ordinal": pa.array(range(start, start + size), pa.int64())})
            start += size

    pairs = list(aligned_batches(stream(3, 0, 4), stream(2, 5)))
    assert [(left["ordinal"].to_pylist(), right["ordinal"].to_pylist()) for left, right in pairs] == [([0, 1],) * 2, ([2],) * 2, ([3, 4, 5, 6],) * 2]
    with pytest.raises(DigestMismatch):
        list(aligned_batches(stream(3), stream(2)))
    with pytest.raises(DigestMismatch):
        list(aligned_batches(stream(2), (batch.slice(1) for batch in stream(3))))


def test_a_stored_manifest_says_everything(published: Round) -> None:
    document = json.loads((published.path / "round.json").read_bytes())
    assert RoundManifest.from_document(document) == published.manifest
    for key in document:
        with pytest.raises(RoundError) as caught:
            RoundManifest.from_document({name: value for name, value in document.items() if name != key})
        assert (caught.value.code, str(caught.value.where)) == ("missing_field", f"round.json, field {key}")
    with pytest.raises(RoundError):
        RoundManifest.from_document(document | {"files": {**document["files"], "../../x": {"sha256": "0" * 64, "rows": 1}}})
    with pytest.raises(RoundError):
        RoundManifest.from_document(document | {"parts": ["pairs", "judge_records"]})


# the workspace

def test_rounds_newest_first_and_found_by_name(tmp_path: Path) -> None:
    workspace = workspace_at(tmp_path)
    digests = []
    for round_id, created in (("old", "2025-01-01T00:00:00Z"), ("new", "2026-01-01T00:00:00Z"), ("mid", "2025-06-01T00:00:00.5Z")):
        digests.append(ingest(WORKED_EXAMPLE, workspace, round_id=round_id, created_at=created, now=NOW).digest)
    assert [manifest.round_id for manifest in workspace.rounds()] == ["new", "mid", "old"]
    assert workspace.rounds()[2].digest == digests[0]
    assert workspace.round("mid").digest == workspace.round(digests[2]).digest == workspace.round(digests[2][:20]).digest == digests[2]
    for selector in ("", "nothing", "f" * 64, "../rounds"):
        with pytest.raises(RoundError) as caught:
            workspace.round(selector)
        assert (caught.value.code, caught.value.exit_code) == ("unknown_round", 4)


def test_one_id_of_two_rounds_is_ambiguous(tmp_path: Path) -> None:
    workspace = workspace_at(tmp_path)
    digests = [ingest(WORKED_EXAMPLE, workspace, round_id="same", created_at=f"202{year}-01-01T00:00:00Z", now=NOW).digest for year in "56"]
    with pytest.raises(RoundError) as caught:
        workspace.round("same")
    assert caught.value.code == "ambiguous_round"
    assert all(digest[:12] in caught.value.got for digest in digests)


def test_a_broken_round_is_listed_apart(tmp_path: Path, published: Round) -> None:
    (published.path.parent / "0123").mkdir()
    manifests, broken = workspace_at(tmp_path).listing()
    assert [manifest.digest for manifest in manifests] == [published.digest]
    assert [(item.name, item.error.code) for item in broken] == [("0123", "no_round")]


def test_a_folder_that_is_no_workspace(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError) as caught:
        Workspace.open(tmp_path)
    assert (caught.value.code, caught.value.exit_code) == ("no_workspace", 2)
    workspace = Workspace.open(tmp_path / "new", create=True)
    assert Workspace.open(tmp_path / "new") == workspace
    assert stat.S_IMODE(workspace.keys_dir.stat().st_mode) == 0o700


def test_the_same_round_again_changes_nothing(tmp_path: Path) -> None:
    first, report = ingested(tmp_path, WORKED_EXAMPLE, created_at=STATED)
    before = {path: path.stat().st_mtime_ns for path in first.path.iterdir()}
    again, second = ingested(tmp_path, WORKED_EXAMPLE, created_at=STATED)
    assert (report.already_present, second.already_present) == (False, True)
    assert {path: path.stat().st_mtime_ns for path in again.path.iterdir()} == before
    assert list((tmp_path / "workspace" / "tmp").iterdir()) == []


def test_the_same_content_at_another_time_is_noted(tmp_path: Path) -> None:
    first, _ = ingested(tmp_path, WORKED_EXAMPLE, created_at=STATED)
    _, report = ingested(tmp_path, WORKED_EXAMPLE, created_at="2026-01-06T12:00:00Z")
    note = next(note for note in report.notes if note.code == "same_content")
    assert first.digest[:12] in note.text
    _, other = ingested(tmp_path, bundle_file(tmp_path, bundle()), created_at="2026-01-07T12:00:00Z")
    assert not [note for note in other.notes if note.code == "same_content"]  # another round_id


def _ingest_at_once(arguments: tuple[str, int]) -> tuple[str, bool]:
    root, _ = arguments
    report = ingest(WORKED_EXAMPLE, Workspace.open(Path(root), create=True), created_at=STATED, now=NOW)
    return report.digest, report.already_present


def test_many_at_once_make_one_round(tmp_path: Path) -> None:
    root = str(tmp_path / "workspace")
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        results = pool.map(_ingest_at_once, [(root, number) for number in range(4)], chunksize=1)
    assert len({digest for digest, _ in results}) == 1
    assert [present for _, present in results].count(False) == 1
    workspace = Workspace.open(Path(root))
    assert len(list(workspace.rounds_dir.iterdir())) == 1
    workspace.round(results[0][0]).verify_files()
    assert list(workspace.tmp_dir.iterdir()) == []


KILLED = """
import sys, time
from datetime import datetime, UTC
from pathlib import Path
import core.rounds.ingest as ingest
from core.rounds.workspace import Workspace
from core.rounds.writers import RowGroupWriter

def stop(path):
    if path.name == "text.parquet":     # everything is written but round.json, and nothing is published
        print("here", flush=True)
        time.sleep(60)
    return real(path)

real, ingest.file_digest = ingest.file_digest, stop
ingest.ingest(Path(sys.argv[1]), Workspace.open(Path(sys.argv[2]), create=True), now=datetime.now(UTC))
"""


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGINT])
def test_an_ingest_that_is_stopped_leaves_no_round(tmp_path: Path, signum: signal.Signals) -> None:
    root = tmp_path / "workspace"
    command = [sys.executable, "-c", KILLED, str(WORKED_EXAMPLE), str(root)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=interruptible)
    assert process.stdout is not None
    assert process.stdout.readline() == b"here\n"
    os.kill(process.pid, signum)
    process.wait()
    process.stdout.close()
    workspace = Workspace.open(root)
    assert list(workspace.rounds_dir.iterdir()) == []
    left = [path for path in workspace.tmp_dir.iterdir() if path.is_dir()]
    assert len(left) == (1 if signum is signal.SIGKILL else 0)
    # the next ingest works and clears away what the killed one left
    report = ingest(WORKED_EXAMPLE, workspace, now=NOW)
    workspace.round(report.digest).verify_files()
    assert list(workspace.tmp_dir.iterdir()) == []


def test_a_fault_while_publishing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = workspace_at(tmp_path)
    real = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if Path(target).parent.name == "rounds":
            raise OSError(28, "No space left on device")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(OSError, match="No space left"):
        ingest(WORKED_EXAMPLE, workspace, now=NOW)
    assert nothing_written(tmp_path)


def test_a_folder_in_use_is_not_swept(tmp_path: Path) -> None:
    workspace = workspace_at(tmp_path)
    with workspace.temporary() as mine:
        (mine / "x").write_text("x", "utf-8")
        with workspace.temporary() as other:
            assert mine.is_dir()
            assert other.is_dir()
        assert (mine / "x").is_file()
    assert list(workspace.tmp_dir.iterdir()) == []


def test_progress_counts_rows(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    ingest(WORKED_EXAMPLE, workspace_at(tmp_path), now=NOW, progress=lambda part, done, total: seen.append((part, done, total)))
    # two lists of judges, then two of pairs; maps have no count beforehand
    assert seen == [
        ("judge_records", 8, 14), ("judge_records", 14, 14), ("pairs", 4, 5), ("pairs", 5, 5), ("outcomes", 10, None), ("sanity", 4, None),
    ]


def test_very_long_texts_make_smaller_row_groups_and_batches(tmp_path: Path) -> None:
    """Five rows of 40 MB: no group and no batch holds more than two of them (settings: batch_bytes is 64 MB)."""
    schema = pa.schema([pa.field("text", pa.string())])
    with RowGroupWriter(tmp_path / "t.parquet", schema, 2048) as writer:
        for _ in range(5):
            writer.write(pa.record_batch({"text": ["x" * 40_000_000]}, schema=schema))
    metadata = pq.read_metadata(tmp_path / "t.parquet")
    assert [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)] == [2, 2, 1]
    # 200 MB in 5 rows: 64 MB hold one of them (no dictionary, so the footer knows the size)
    assert bounded_rows(metadata, 8192) == 1
