"""Ids that a reader would take for one: they differ only by white space, hidden characters or Unicode form."""
from __future__ import annotations

import unicodedata
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_HIDDEN: Final = "Cf"


def _bare(identifier: str) -> str:
    """The id as it looks: NFKC, without white space and format characters."""
    text = unicodedata.normalize("NFKC", identifier)
    return "".join(character for character in "".join(text.split()) if unicodedata.category(character) != _HIDDEN)


def look_alikes(ids: pa.ChunkedArray) -> list[tuple[str, ...]]:
    """Groups of different ids that look the same, each sorted, in order of their first id.

    Ids of plain ASCII without white space look like nothing but themselves, so only the others are looked at in Python.
    """
    distinct = ids.unique()
    plain = pc.and_(pc.string_is_ascii(distinct), pc.invert(pc.match_substring_regex(distinct, r"[\x00-\x20]")))
    groups: dict[str, list[str]] = {}
    for identifier in distinct.filter(pc.invert(plain)).to_pylist():
        groups.setdefault(_bare(identifier), []).append(identifier)
    if not groups:
        return []
    candidates = distinct.filter(plain)
    for identifier in candidates.filter(pc.is_in(candidates, pa.array(list(groups), pa.string()))).to_pylist():
        groups[identifier].append(identifier)
    return sorted(tuple(sorted(group)) for group in groups.values() if len(group) > 1)
