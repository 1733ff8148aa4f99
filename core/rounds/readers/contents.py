"""What a file is by its first bytes, where its name says something else: told by name, because the reader of its form could only call it broken.

Git LFS keeps a file of three lines in the place of a large one, and a page about a file is easily saved in its place; both come under the
file's name.
"""
from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from core.errors import RoundError, Where

CODECS: Final = {".gz": "gzip", ".zst": "zstd"}
"""Suffix -> what it is packed with."""
JSON, LINES, CSV = ".json", ".jsonl", ".csv"
TEXT: Final = (LINES, CSV, JSON)
"""Suffixes of text."""


class FileName(NamedTuple):
    """A file's name taken apart: ``train.jsonl.gz`` is ``train``, ``.jsonl`` and ``.gz``; ``codec`` is "" where it is not packed."""

    stem: str
    suffix: str
    codec: str


def name_parts(name: str) -> FileName:
    """The stem, the suffix that says the form, and the suffix that says how it is packed."""
    codec = Path(name).suffix
    inner = name.removesuffix(codec) if codec in CODECS else name
    path = Path(inner)
    return FileName(path.stem, path.suffix, codec if codec in CODECS else "")


class _Content(NamedTuple):
    """``what`` it is; the ``suffix`` that says so, where one is read here; otherwise what ``to do``."""

    what: str
    suffix: str = ""
    todo: str = "unpack it, and hand over what is in it"


_PARQUET, _ARROW, _FEATHER = ".parquet", ".arrow", ".feather"
_CHECKED: Final = frozenset((*CODECS, *TEXT, _PARQUET, _ARROW, _FEATHER))
_BINARY: Final = {
    b"\x1f\x8b": _Content("a gzip file", ".gz"), b"\x28\xb5\x2f\xfd": _Content("a zstd file", ".zst"), b"\xfd7zXZ\x00": _Content("an xz file"),
    b"PK\x03\x04": _Content("a zip file"), b"PAR1\x15": _Content("a Parquet file", _PARQUET),
    b"ARROW1\x00\x00": _Content("an Arrow IPC file", _ARROW),
}
_POINTER: Final = b"version https://git-lfs.github.com/spec/"
_PAGES: Final = (b"<!doctype html", b"<html")
_STAND_INS: Final = {
    _POINTER: _Content("a Git LFS pointer, which stands for the file", todo="fetch the file itself (git lfs pull), and hand that over"),
    **dict.fromkeys(_PAGES, _Content("a web page", todo="download the file itself, not the page about it")),
}
_OBJECT, _LIST = b"{", b"["
HEAD_BYTES: Final = max(map(len, (*_BINARY, *_STAND_INS)))
"""How many bytes of a file are looked at."""


def refuse_other_content(head: bytes, file: str, suffix: str) -> None:
    """Refuse a file whose first bytes are those of something other than ``suffix`` (of its form or its packing) says. Raises RoundError
    ``other_content``; returns where that is not known."""
    found = _content(head, suffix) if suffix in _CHECKED else None
    if found is None or found.suffix == (_ARROW if suffix == _FEATHER else suffix):
        return
    said = "text" if suffix in TEXT else f"{CODECS.get(suffix, suffix.removeprefix('.'))} data"
    raise RoundError(
        "other_content", expected=f"{said}, as the name {file!r} says", got=found.what, where=Where(file),
        remedy=_remedy(found, file, suffix),
    )


def _remedy(found: _Content, file: str, suffix: str) -> str:
    if found.suffix in CODECS and suffix not in CODECS and name_parts(file).codec:
        return "it is packed twice; unpack it once"
    return f"name it {_renamed(file, found.suffix)}" if found.suffix else found.todo


def _content(head: bytes, suffix: str) -> _Content | None:
    known = _BINARY | _STAND_INS
    lower = head.lower()
    found = next((content for begins, content in known.items() if head.startswith(begins) or (begins in _PAGES and lower.startswith(begins))), None)
    if found is not None or suffix in TEXT:
        return found
    first = head.lstrip()
    return _Content("JSON text", LINES if first.startswith(_OBJECT) else JSON) if first.startswith((_OBJECT, _LIST)) else None


def _renamed(file: str, suffix: str) -> str:
    """The name that says what the file is."""
    parts = name_parts(file)
    if suffix in CODECS:
        return f"{file.removesuffix(parts.codec)}{suffix}"
    packed_text = parts.codec and suffix in TEXT
    return file.removesuffix(parts.codec) if packed_text and parts.suffix in TEXT else f"{parts.stem}{suffix}"
