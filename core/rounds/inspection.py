"""What ``round check`` looks for beyond the digests: columns that no part knows, and words of mixed scripts."""
from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from core.rounds.folder import Round
from core.settings import SETTINGS

_WORD: Final = re.compile(r"\w+")
_ALPHABETS: Final = frozenset({"LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC"})
"""Scripts whose letters are taken for one another. Others mix legitimately inside a word (Japanese writes three)."""
_NAMED: Final[int] = SETTINGS["display"]["page_rows"]


def _scripts(word: str) -> set[str]:
    # compatibility letters (the micro sign) count as the letter they stand for
    letters = (character for character in unicodedata.normalize("NFKC", word) if character.isalpha())
    return {unicodedata.name(letter, "").partition(" ")[0] for letter in letters} & _ALPHABETS


def mixed_script_words(text: str) -> list[str]:
    """The words of a text whose letters come from more than one of the alphabets that look alike, in order.

    A flag only, never a merge or a refusal: ``μm`` is a legitimate unit.
    """
    if text.isascii():
        return []
    return [word for word in _WORD.findall(text) if not word.isascii() and len(_scripts(word)) > 1]


def extra_columns(source: Round) -> dict[str, list[str]]:
    """Part -> the unknown columns that are kept in ``extra``, by name."""
    found: dict[str, list[str]] = {}
    for part in ("judge_records", "pairs", "outcomes", "sanity"):
        if not source.has(part):
            continue
        column = (source.narrow(["extra"]) if part == "pairs" else source.table(part))["extra"]
        names = {name for text in column.drop_null().to_pylist() for name in json.loads(text)}
        if names:
            found[part] = sorted(names)
    return found


@dataclass(frozen=True, slots=True)
class MixedScripts:
    """Prompts with words of mixed scripts: how many there are, and the first of them by pair."""

    count: int
    examples: tuple[tuple[str, tuple[str, ...]], ...]


def mixed_script_prompts(source: Round) -> MixedScripts:
    """The prompts of the pairs that hold a word of mixed scripts."""
    count = 0
    examples: list[tuple[str, tuple[str, ...]]] = []
    for pair_id, words in _mixed(source):
        count += 1
        if len(examples) < _NAMED:
            examples.append((pair_id, tuple(words)))
    return MixedScripts(count, tuple(examples))


def _mixed(source: Round) -> Iterator[tuple[str, list[str]]]:
    for narrow, text in source.pair_batches():
        other = pc.invert(pc.string_is_ascii(text["prompt"]))
        ids: pa.Array = narrow["pair_id"].filter(other)
        for pair_id, prompt in zip(ids.to_pylist(), text["prompt"].filter(other).to_pylist(), strict=True):
            words = mixed_script_words(prompt)
            if words:
                yield pair_id, words
