"""Zip files that are read in memory: what they may unpack to, what they may be called, and what is no zip file."""
from __future__ import annotations

import json
import shutil
import struct
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support_eval_logs import BASELINE, eval_log, fault, header, read, sample

from core.errors import RoundError
from core.rounds.readers import archive as module
from core.rounds.readers.archive import opened_archive
from core.rounds.readers.inspect_log import FORMAT


def refused(path: Path, name: str | None = None) -> RoundError:
    with pytest.raises(RoundError) as caught, opened_archive(path, path.name) as found:
        found.read(name or found.names[0])
    return caught.value


def zip_of(path: Path, members: list[tuple[str, str]], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, text in members:
            archive.writestr(name, text)
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_are_read_whatever_they_are_packed_with(tmp_path: Path, method: int) -> None:
    with opened_archive(zip_of(tmp_path / "a.zip", [("a", "x" * 5000), ("b", "")], method), "a.zip") as found:
        assert (found.names, found.read("a"), found.read("b")) == (("a", "b"), b"x" * 5000, b"")


def test_a_bomb_is_stopped_while_it_unpacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten members that unpack to a megabyte each, in a file of a few kilobytes, where two megabytes are allowed."""
    path = zip_of(tmp_path / "a.zip", [(str(number), "\0" * 1_000_000) for number in range(10)])
    assert path.stat().st_size < 20_000
    monkeypatch.setattr(module, "unpacked_limit", lambda size: 2_000_000)
    with opened_archive(path, "a.zip") as found:
        assert len(found.read("0")) == 1_000_000
        assert len(found.read("1")) == 1_000_000
        with pytest.raises(RoundError) as caught:
            found.read("2")
    assert caught.value.code == "unpacks_to_too_much"


@pytest.mark.parametrize("lie", [10, 2**31])
def test_a_size_that_lies_does_not_help(tmp_path: Path, lie: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directory says how much a member unpacks to; what counts is what comes out."""
    path = zip_of(tmp_path / "a.zip", [("a", "\0" * 1_000_000)])
    data = bytearray(path.read_bytes())
    entry = data.rfind(b"PK\x01\x02")
    data[entry + 24:entry + 28] = struct.pack("<I", lie)
    path.write_bytes(bytes(data))
    monkeypatch.setattr(module, "MAX_MEMBER_BYTES", 1000)
    assert refused(path).code in ("broken_archive", "too_large")


def test_one_member_may_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_MEMBER_BYTES", 1000)
    assert refused(zip_of(tmp_path / "a.zip", [("a", "x" * 1001)])).code == "too_large"
    with opened_archive(zip_of(tmp_path / "b.zip", [("a", "x" * 1000)]), "b.zip") as found:
        assert len(found.read("a")) == 1000


def test_a_zstandard_member_may_not_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(BASELINE, tmp_path / "a.eval")
    monkeypatch.setattr(module, "MAX_MEMBER_BYTES", 6000)
    assert fault(FORMAT, tmp_path / "a.eval", scorer="match")[0] == "too_large"


def test_names_are_names_and_nothing_is_written(tmp_path: Path) -> None:
    """Members called like paths out of the folder: read as samples, and no file appears anywhere."""
    inner = tmp_path / "in"
    inner.mkdir()
    path = inner / "log.eval"
    places = ["../../../escaped", "/etc/x", "a.eval/samples/1", r"..\..\b"]
    names = [f"samples/{place}_epoch_1.json" for place in places]
    zip_of(path, [*((name, json.dumps(sample(number))) for number, name in enumerate(names)), ("header.json", json.dumps(header()))])
    rows, _ = read(FORMAT, path)
    assert [row["id"] for row in rows] == ["0", "1", "2", "3"]
    assert sorted(found.name for found in tmp_path.rglob("*")) == ["in", "log.eval"]


def test_other_members_are_no_samples(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "log.eval", [
        ("samples/1_epoch_1.json", json.dumps(sample(1))), ("samples.json", "{"), ("x/samples/2_epoch_1.json", "{"), ("samples/", ""),
        ("samples/2_epoch_1.txt", "x"), ("samples/notes.json", "{"), ("header.json", json.dumps(header())),
    ])
    assert len(read(FORMAT, path)[0]) == 1


def test_a_member_said_twice_is_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = zip_of(tmp_path / "a.zip", [("a", "1"), ("a", "2")])
    assert refused(path).code == "duplicate_member"


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zip_of(tmp_path / "a.zip", [(str(number), "") for number in range(11)])
    monkeypatch.setattr(module, "MAX_MEMBERS", 10)
    assert refused(path).code == "too_many_members"
    monkeypatch.setattr(module, "MAX_MEMBERS", 11)
    # eleven entries of 46 bytes and a name of one or two characters: 11 * 46 + 12 = 518
    monkeypatch.setattr(module, "MAX_DIRECTORY_BYTES", 517)
    assert refused(path).code == "too_many_members"
    monkeypatch.setattr(module, "MAX_DIRECTORY_BYTES", 518)
    with opened_archive(path, "a.zip") as found:
        assert len(found.names) == 11


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", [("a", "text")])
    data = bytearray(path.read_bytes())
    data[data.rfind(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(data))
    assert refused(path).code == "encrypted_member"


@pytest.mark.parametrize("change", ["cut", "head", "middle", "text", "empty"])
def test_what_is_no_whole_zip_file_is_refused(tmp_path: Path, change: str) -> None:
    data = eval_log(tmp_path, [sample(1), sample(2)]).read_bytes()
    # the local header of the first sample, 30 bytes before its name
    first = data.find(b"samples/1_epoch_1.json") - 30
    broken = {
        "cut": data[:-30], "head": data[:first] + b"\0" * 40 + data[first + 40:], "middle": data[:first + 60] + b"\xff" * 40 + data[first + 100:],
        "text": b"no zip file at all", "empty": b"",
    }[change]
    path = tmp_path / "broken.eval"
    path.write_bytes(broken)
    assert fault(FORMAT, path)[0] in ("not_zip", "broken_archive")


def test_a_zstandard_member_with_another_checksum_is_refused(tmp_path: Path) -> None:
    data = bytearray(BASELINE.read_bytes())
    place = data.rfind(b"PK\x01\x02")
    data[place + 16] ^= 1
    path = tmp_path / "a.eval"
    path.write_bytes(bytes(data))
    with opened_archive(path, "a.eval") as found:
        last = found.names[-1]
        with pytest.raises(RoundError) as caught:
            found.read(last)
    assert caught.value.code == "broken_archive"


@pytest.mark.parametrize("body", [b"not zstandard", pa.compress(b"x" * 1000, "zstd", asbytes=True)[:-5]])
def test_a_broken_zstandard_member_is_refused(tmp_path: Path, body: bytes) -> None:
    path = zip_of(tmp_path / "a.zip", [("a", body.decode("latin-1"))], zipfile.ZIP_STORED)
    data: Any = bytearray(path.read_bytes())
    data[data.rfind(b"PK\x01\x02") + 10] = 93
    path.write_bytes(bytes(data))
    assert refused(path).code == "broken_archive"
