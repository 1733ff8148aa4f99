"""The three structural keys of many pairs at once, over Arrow columns.

    prompt_normalized_sha256            SHA-256 of the UTF-8 JSON list ["p1", p1(prompt)]
    chosen_structural_skeleton_sha256   SHA-256 of ["s1", s1(chosen)]
    joint_transition_pair_sha256        SHA-256 of ["j1", p1(prompt), s1(chosen), s1(rejected)]

JSON without spaces and with characters as they are; the list framing keeps "ab" + "" apart from "a" + "b".

Most texts are plain: printable ASCII without markdown and without a token that ``s1`` masks. One regular-expression pass a
column tells; for them a form is lower case, single spaces and a trim, which Arrow does for the whole column. The others go
through ``core.pairs.normal_forms`` one by one. ``tests/unit/test_pairs_keys.py`` compares both routes with the definitions.
"""
from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.grid import DEDUP_KEYS
from core.pairs.columns import Flags, flags, replaced, scratch
from core.pairs.normal_forms import END_MARKS, p1, require_text, s1

_HEX_CHARACTERS: Final = len(hashlib.sha256().hexdigest())

# Conservative: what a pattern matches takes the slow route, which is right for every text.
_NOT_PLAIN_PROMPT: Final = r"[^\t\n\r -~]"
_NOT_PLAIN_ANSWER: Final = (
    r"[^\t\n\r -~]|[`*]|\]\(|(?:^|[\n\r])[ \t]*(?:[>#~]|[-+][ \t]|[0-9]{1,3}[.)][ \t])"
    r"|[0-9A-Fa-f-]{32}|[0-9]{4}-[0-9]{2}-[0-9]{2}[tT ][0-9]{2}:"
)
_SPACE, _QUOTE, _BACKSLASH = (np.uint8(ord(mark)) for mark in ' "\\')
_CONTROL: Final = r"[\x00-\x1f]"
_ASCII_END_MARKS: Final = "".join(mark for mark in END_MARKS if mark.isascii())


@dataclass(frozen=True, slots=True)
class NormalForm:
    """A normal form, and the pattern of the texts that need its full rules."""

    of: Callable[[str], str]
    not_plain: str


PROMPT_FORM: Final = NormalForm(p1, _NOT_PLAIN_PROMPT)
SKELETON_FORM: Final = NormalForm(s1, _NOT_PLAIN_ANSWER)


quoted: Final = json.JSONEncoder(ensure_ascii=False).encode
"""A text as JSON: the same characters as RFC 8785 gives for a string."""


def framed_digest(*fields: str) -> str:
    """SHA-256, in hex, of the JSON list of ``fields``."""
    return hashlib.sha256(f"[{','.join(map(quoted, fields))}]".encode()).hexdigest()


def pair_keys(prompt: str, chosen: str, rejected: str) -> dict[str, str]:
    """The three keys of one pair, by name. Raises RoundError for a text that has no normal form (empty, not Unicode)."""
    prompt, chosen, rejected = map(require_text, (prompt, chosen, rejected))
    digests = (framed_digest("p1", p1(prompt)), framed_digest("s1", s1(chosen)), framed_digest("j1", p1(prompt), s1(chosen), s1(rejected)))
    return dict(zip(DEDUP_KEYS, digests, strict=True))


def escaped_forms(texts: Any, form: NormalForm) -> Any:
    """The normal form of every text of a string column, escaped as inside a JSON string."""
    slow = flags(pc.match_substring_regex(texts, pattern=form.not_plain))
    collapsed = pc.ascii_trim(_collapsed(texts), characters=" ")
    plain = pc.ascii_rtrim(collapsed, characters=_ASCII_END_MARKS)
    only_marks = flags(pc.equal(pc.binary_length(plain), 0))
    result = _escaped_printable(replaced(plain, only_marks, collapsed.filter(pa.array(only_marks))))
    if not slow.any():
        return result
    return replaced(result, slow, pa.array([quoted(form.of(text))[1:-1] for text in texts.filter(pa.array(slow)).to_pylist()], pa.string()))


def _collapsed(texts: Any) -> pa.Array:
    """Lower case, and every run of white space one space: right for plain texts (at the ends, a run may leave none)."""
    data, offsets = _buffers(pc.ascii_lower(texts))
    space = np.less_equal(data, _SPACE, out=scratch(len(data)))
    # a space after a space goes; if the one before it ends the text before, ascii_trim would remove both anyway
    gone = scratch(len(data))
    gone[:1] = False
    np.logical_and(space[1:], space[:-1], out=gone[1:])
    offsets = (offsets - np.searchsorted(np.flatnonzero(gone), offsets)).astype(np.int32)
    kept = data[np.logical_not(gone, out=gone)]
    data = np.maximum(kept, _SPACE, out=kept)
    return pa.Array.from_buffers(pa.string(), len(texts), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _buffers(texts: Any) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    """The bytes of a string column, and where each text begins in them (with the end of the last one)."""
    _, starts, data = texts.buffers()
    offsets = np.frombuffer(starts, dtype=np.int32)[texts.offset: texts.offset + len(texts) + 1]
    view = np.frombuffer(data, dtype=np.uint8)[offsets[0]: offsets[-1]] if data is not None else np.zeros(0, dtype=np.uint8)
    return view, offsets - offsets[0]


def _rows_with(texts: Any, *marks: np.uint8) -> Flags:
    """Rows of a string column that hold one of these ASCII characters."""
    data, offsets = _buffers(texts)
    hit, same = scratch(len(data)), scratch(len(data))
    hit[:] = False
    for mark in marks:
        np.logical_or(hit, np.equal(data, mark, out=same), out=hit)
    found = np.zeros(len(texts), dtype=np.bool_)
    found[np.searchsorted(offsets, np.flatnonzero(hit), side="right") - 1] = True
    return found


def _escaped_printable(texts: Any) -> Any:
    """Texts without control characters, escaped as inside a JSON string."""
    escaped = _rows_with(texts, _QUOTE, _BACKSLASH)
    if not escaped.any():
        return texts
    doubled = pc.replace_substring(texts.filter(pa.array(escaped)), pattern="\\", replacement="\\\\")
    return replaced(texts, escaped, pc.replace_substring(doubled, pattern='"', replacement='\\"'))


def quoted_column(texts: Any) -> Any:
    """Any texts as JSON strings, in the characters of RFC 8785."""
    control = flags(pc.match_substring_regex(texts, pattern=_CONTROL))
    printable = pc.binary_join_element_wise('"', _escaped_printable(texts), '"', "")
    return replaced(printable, control, pa.array([quoted(text) for text in texts.filter(pa.array(control)).to_pylist()], pa.string()))


def hex_digests(messages: Any) -> pa.Array:
    """SHA-256, in hex, of the bytes of every row of a string column without nulls."""
    data, offsets = _buffers(messages)
    ends, view, sha256 = offsets.tolist(), data.data, hashlib.sha256
    joined = b"".join([sha256(view[start:end]).digest() for start, end in itertools.pairwise(ends)])
    lengths = np.arange(len(messages) + 1, dtype=np.int32) * _HEX_CHARACTERS
    return pa.Array.from_buffers(pa.string(), len(messages), [None, pa.py_buffer(lengths), pa.py_buffer(joined.hex().encode())])


def key_columns(prompt: Any, chosen: Any, rejected: Any) -> dict[str, pa.Array]:
    """The three keys of every pair, by name: string columns in, columns of hex digests out."""
    p, c, r = escaped_forms(prompt, PROMPT_FORM), escaped_forms(chosen, SKELETON_FORM), escaped_forms(rejected, SKELETON_FORM)
    frames = (
        pc.binary_join_element_wise('["p1","', p, '"]', ""),
        pc.binary_join_element_wise('["s1","', c, '"]', ""),
        pc.binary_join_element_wise('["j1","', p, '","', c, '","', r, '"]', ""),
    )
    return dict(zip(DEDUP_KEYS, map(hex_digests, frames), strict=True))
