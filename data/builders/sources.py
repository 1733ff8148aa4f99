"""Readers of ``data/sources``: each file as it was published, with the digests of ``data/SOURCES.md`` checked first."""
from __future__ import annotations

import gzip
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1]
SOURCES = DATA / "sources"
_ROW = re.compile(r"^\| `(?P<name>[^`]+\.gz)` \| .* \| `(?P<stored>[0-9a-f]{64})` \| `(?P<raw>[0-9a-f]{64})` \|$")


class SourceChanged(Exception):
    """A file under ``data/sources`` is not the one that ``data/SOURCES.md`` describes."""


@cache
def stated_digests() -> dict[str, tuple[str, str]]:
    """File name -> (SHA-256 as stored, SHA-256 of the decompressed bytes), read from the tables of ``data/SOURCES.md``."""
    rows = (_ROW.match(line) for line in (DATA / "SOURCES.md").read_text("utf-8").splitlines())
    return {row["name"]: (row["stored"], row["raw"]) for row in rows if row}


@cache
def raw_bytes(name: str) -> bytes:
    """The decompressed bytes of one source file. Raises SourceChanged when either digest differs from the stated one."""
    stored = (SOURCES / name).read_bytes()
    raw = gzip.decompress(stored)
    found = (hashlib.sha256(stored).hexdigest(), hashlib.sha256(raw).hexdigest())
    if stated_digests().get(name) != found:
        raise SourceChanged(f"{name}: data/SOURCES.md states {stated_digests().get(name)}, the file gives {found}")
    return raw


def json_lines(name: str) -> list[dict[str, Any]]:
    """The rows of a JSON Lines file, in file order."""
    # bytes, because str.splitlines also splits at U+2028 and NEL, which a JSON string may hold unescaped
    return [json.loads(line) for line in raw_bytes(name).split(b"\n") if line]


def json_document(name: str) -> Any:
    """A whole JSON document."""
    return json.loads(raw_bytes(name))
