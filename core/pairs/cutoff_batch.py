"""What a declared cut-off makes of the pairs of a round, batch by batch: which answers it cuts, and which pairs it makes equal.

The rows that could be hit are found in whole columns (counts first, then the bytes that would have to agree); only they are looked at
one by one. Comparisons with the estimated tokens of a prompt are made in doubles, and again in integers where doubles cannot tell.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.pairs.columns import Flags, flags, integers
from core.pairs.cutoff import COMPLETION_CHARACTERS, START, Answers, CutOff, Equal, answers_of, equal_under
from core.settings import SETTINGS

Ints = npt.NDArray[np.int64]
SIDES: Final = ("chosen", "rejected")
_FIRST: Final[int] = SETTINGS["cutoff"]["first_bytes"]
_NEAR: Final = float(np.sqrt(np.finfo(np.float64).eps))
"""Relative distance within which a comparison in doubles is made again in integers: far above their rounding."""


@dataclass(frozen=True, slots=True)
class EqualPair:
    """A pair that the cut-off makes equal. ``position``: among the rows that were wanted, in their order."""

    position: int
    ordinal: int
    pair_id: str
    found: Equal


@dataclass
class CutCount:
    """Grows by one batch of wanted rows at a time. ``cut``: for each side, which rows lose text for certain; ``maybe``: which do by the
    estimated length of their prompt as well, with those that lose it for certain."""

    cutoff: CutOff
    rows: int = 0
    equal: list[EqualPair] = field(default_factory=list)
    cut: dict[str, list[Flags]] = field(default_factory=lambda: {side: [] for side in SIDES})
    maybe: dict[str, list[Flags]] = field(default_factory=lambda: {side: [] for side in SIDES})

    def add(self, narrow: pa.RecordBatch, text: pa.RecordBatch, wanted: Flags) -> None:
        """Count the rows of a mask. ``narrow`` and ``text``: the same rows in the columns of PAIRS and TEXT."""
        tokens = [integers(narrow[f"{side}_token_count"]) for side in SIDES]
        if self.cutoff.counts == COMPLETION_CHARACTERS:
            candidates = self._characters(text, wanted)
        else:
            candidates = self._tokens(text, tokens, wanted)
        places = np.cumsum(wanted) - 1
        for row, pair in _rows(text, tokens, candidates, prompts=self.cutoff.prompt_counts):
            found = equal_under(self.cutoff, pair)
            if found is not None:
                place = self.rows + int(places[row])
                self.equal.append(EqualPair(place, narrow["ordinal"][row].as_py(), narrow["pair_id"][row].as_py(), found))
        self.rows += int(wanted.sum())

    def _characters(self, text: pa.RecordBatch, wanted: Flags) -> Flags:
        long = [(integers(pc.utf8_length(text[side])) > self.cutoff.length) & wanted for side in SIDES]
        chat = flags(pc.is_valid(text["chosen_messages"]))
        # a message's content is shorter than the text that is made of it
        for row, pair in _rows(text, None, (long[0] | long[1]) & chat):
            for mask, side in zip(long, (pair.chosen, pair.rejected), strict=True):
                mask[row] = len(side) > self.cutoff.length
        self._count(long, long, wanted)
        return _agreeing(text, long[0] | long[1], self.cutoff.length, self.cutoff.keeps)

    def _tokens(self, text: pa.RecordBatch, tokens: list[Ints], wanted: Flags) -> Flags:
        length = self.cutoff.length
        certain = [count > length for count in tokens]
        if not self.cutoff.prompt_counts:
            self._count(certain, certain, wanted)
            candidates = (tokens[0] >= length) & (tokens[1] >= length) & (certain[0] | certain[1]) & wanted
            # the end token has no bytes, and is kept with the end
            return _agreeing(text, candidates, length if self.cutoff.keeps == START else length - 1, self.cutoff.keeps)
        lengths = _Lengths.of(text, tokens)
        beyond = lengths.beyond(length)
        self._count(certain, [one | (side > 0) for one, side in zip(certain, beyond, strict=True)], wanted)
        candidates = (beyond[0] >= 0) & (beyond[1] >= 0) & ((beyond[0] > 0) | (beyond[1] > 0)) & wanted
        # nearly all pairs differ at once: those that would have to share more are not looked at one by one
        far = candidates & (lengths.needed(length) >= _FIRST)
        return (candidates & ~far) | _agreeing(text, far, _FIRST, START)

    def _count(self, certain: list[Flags], maybe: list[Flags], wanted: Flags) -> None:
        for place, side in enumerate(SIDES):
            self.cut[side].append(certain[place][wanted])
            self.maybe[side].append(maybe[place][wanted])

    def among(self, positions: npt.NDArray[np.int64]) -> tuple[dict[str, int], dict[str, int], list[EqualPair]]:
        """Of the wanted rows at these positions: how many each side loses text in for certain, how many more by estimate, and the pairs
        that become equal, in the order of the input."""
        kept = np.zeros(self.rows, dtype=np.bool_)
        kept[positions] = True
        certain = {side: int((_joined(self.cut[side]) & kept).sum()) for side in SIDES}
        more = {side: int((_joined(self.maybe[side]) & kept).sum()) - certain[side] for side in SIDES}
        return certain, more, [pair for pair in self.equal if kept[pair.position]]


def _joined(masks: list[Flags]) -> Flags:
    return np.concatenate([np.zeros(0, dtype=np.bool_), *masks])


_ANSWERS: Final = ["chosen", "rejected", "chosen_messages", "rejected_messages"]


def _rows(text: pa.RecordBatch, tokens: list[Ints] | None, wanted: Flags, *, prompts: bool = False) -> Iterator[tuple[int, Answers]]:
    """(row, pair) of the rows of a mask; without token counts where none are given, with the length of the prompt where it is asked for."""
    places = np.flatnonzero(wanted)
    taken = pa.array(places)
    found = text.select(_ANSWERS).take(taken).to_pylist()
    sizes = integers(pc.utf8_length(text["prompt"].take(taken))) if prompts else np.zeros(len(places), dtype=np.int64)
    for row, values, size in zip(places.tolist(), found, sizes.tolist(), strict=True):
        counts = (0, 0) if tokens is None else (int(tokens[0][row]), int(tokens[1][row]))
        yield row, answers_of(values, *counts, prompt=size)


def _agreeing(text: pa.RecordBatch, candidates: Flags, sure: int, keeps: str) -> Flags:
    """Those of the candidates whose answers agree in ``sure`` bytes of the kept end. What is kept is at least as many bytes as characters
    or tokens, so no pair is lost; nor one of messages, whose texts have a role before the content and a line feed behind it."""
    if not sure or not candidates.any():
        return candidates
    # the first bytes tell nearly all pairs apart, and are compared where the texts lie; only of the others a copy is made
    places = np.flatnonzero(candidates & _same([text[side] for side in SIDES], min(sure, _FIRST), keeps))
    result = np.zeros(len(candidates), dtype=np.bool_)
    taken = pa.array(places)
    result[places] = _same([text[side].take(taken) for side in SIDES], sure, keeps)
    return result


def _same(answers: list[pa.Array], count: int, keeps: str) -> Flags:
    """Where two columns of text have that many bytes in common at the kept end."""
    sides = [side.cast(pa.binary()) for side in answers]
    start, stop = (0, count) if keeps == START else (-count, None)
    same = flags(pc.equal(*(pc.binary_slice(side, start=start, stop=stop) for side in sides)))
    long: Flags = np.minimum(*(integers(pc.binary_length(side)) for side in sides)) >= count
    return same & long


@dataclass(frozen=True, slots=True)
class _Lengths:
    """Characters and tokens of each row where the prompt counts: with c characters and n tokens of both answers together, a prompt of p
    characters has p * n / c tokens, by estimate."""

    prompt: Ints
    characters: list[Ints]
    tokens: list[Ints]

    @classmethod
    def of(cls, text: pa.RecordBatch, tokens: list[Ints]) -> _Lengths:
        prompt, *characters = (integers(pc.utf8_length(text[name])) for name in ("prompt", *SIDES))
        return cls(prompt, characters, tokens)

    def beyond(self, length: int) -> list[npt.NDArray[np.int8]]:
        """For each side, the sign of (its tokens + tokens of the prompt - length), exact: that of (tokens - length) * c + p * n."""
        characters, counted = self.characters[0] + self.characters[1], self.tokens[0] + self.tokens[1]
        right = self.prompt.astype(np.float64) * counted
        found = []
        for own in self.tokens:
            left = (own - float(length)) * characters
            value = left + right
            sign = np.sign(value).astype(np.int8)
            for row in np.flatnonzero(np.abs(value) <= _NEAR * (np.abs(left) + right)).tolist():
                exact = (int(own[row]) - length) * int(characters[row]) + int(self.prompt[row]) * int(counted[row])
                sign[row] = (exact > 0) - (exact < 0)
            found.append(sign)
        return found

    def needed(self, length: int) -> npt.NDArray[np.float64]:
        """For each row no more than the characters that its answers have to share to be equal. By estimate each side asks for so many; what
        is proved by the tokens of one side alone shares as many as that side asks for."""
        with np.errstate(divide="ignore", invalid="ignore"):
            room = length - self.prompt.astype(np.float64) * (self.tokens[0] + self.tokens[1]) / (self.characters[0] + self.characters[1])
            # the content of a message is shorter than the text made of it; a role's name as long as that is shared in any case
            sides = [room * np.maximum(own - _FIRST, 0) / count for own, count in zip(self.characters, self.tokens, strict=True)]
            return np.asarray(np.minimum(*sides) * (1 - _NEAR))
