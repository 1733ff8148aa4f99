"""The declared training cut-off in each trainer's spelling, where the trainer has one that means the same; otherwise in words.

Every trainer here counts prompt and answer together. TRL before 0.29 can cut the answer alone as well; nobody cuts by characters. A
number that means something else is never written: what to do stands in its place.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from core.pairs.cutoff import COMPLETION_TOKENS, SEQUENCE_TOKENS, START, CutOff

Settings = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Spelled:
    """What a trainer is told: its settings, and what a person has to know about them."""

    comment: str
    settings: Settings = field(default_factory=dict)


def spelled(trainer: str, cutoff: CutOff) -> Spelled:
    """The cut-off for one trainer of the recipe."""
    if trainer not in _WHOLE:
        return Spelled(f"has no setting for a cut-off; the declared one is {cutoff.words()}")
    if cutoff.counts == SEQUENCE_TOKENS:
        return _WHOLE[trainer](cutoff)
    name = _NAMES[trainer]
    if cutoff.counts == COMPLETION_TOKENS and trainer == _OLDER and cutoff.keeps == START:
        return Spelled("cuts the answer alone; max_length, which counts the prompt too, is off",
                       {"max_completion_length": cutoff.length, "max_length": None})
    alone = "tokens of the answer alone" if cutoff.counts == COMPLETION_TOKENS else "characters"
    return Spelled(f"cannot cut by {alone}: {name} counts tokens of prompt and answer together, so no number is written. Cut the answers to "
                   f"{cutoff.words()} beforehand, and set {name} above the longest pair")


def _trl(cutoff: CutOff) -> Spelled:
    mode = f"keep_{cutoff.keeps}"
    if cutoff.keeps == START:
        return Spelled("pairs whose prompt alone fills max_length are left out", {"max_length": cutoff.length, "truncation_mode": mode})
    return Spelled("keep_end is deprecated, and goes with TRL 2", {"max_length": cutoff.length, "truncation_mode": mode})


def _trl_older(cutoff: CutOff) -> Spelled:
    return Spelled("max_prompt_length is off: its default cuts the prompt first",
                   {"max_length": cutoff.length, "truncation_mode": f"keep_{cutoff.keeps}", "max_prompt_length": None})


def _swift(cutoff: CutOff) -> Spelled:
    side = "right" if cutoff.keeps == START else "left"
    return Spelled("without truncation_strategy, pairs that are too long are left out instead of cut",
                   {"max_length": cutoff.length, "truncation_strategy": side})


def _openrlhf(cutoff: CutOff, name: str) -> Spelled:
    if cutoff.keeps != START:
        return Spelled(_START_ONLY)
    return Spelled("the last token kept becomes the end token, and pairs whose prompt nearly fills it are left out", {name: cutoff.length})


def _llamafactory(cutoff: CutOff) -> Spelled:
    if cutoff.keeps != START:
        return Spelled(_START_ONLY)
    return Spelled("cuts the prompt where the answers are shorter than half of it, and both in proportion where neither is: an answer may keep more "
                   "than declared", {"cutoff_len": cutoff.length})


def _axolotl(cutoff: CutOff) -> Spelled:
    if cutoff.keeps != START:
        return Spelled(_START_ONLY)
    return Spelled("pairs that are longer are left out, not cut, unless excess_length_strategy says truncate", {"sequence_len": cutoff.length})


_OLDER: Final = "trl-older"
_START_ONLY: Final = "keeps the start only, so no number is written"
_NAMES: Final[Mapping[str, str]] = {
    "trl": "max_length", _OLDER: "max_length", "ms-swift": "max_length", "openrlhf": "data.max_len", "openrlhf-older": "max_len",
    "llamafactory": "cutoff_len", "axolotl": "sequence_len", "axolotl-older": "sequence_len",
}
"""Trainer -> its setting that counts prompt and answer together."""
_WHOLE: Final[Mapping[str, Callable[[CutOff], Spelled]]] = {
    "trl": _trl, _OLDER: _trl_older, "ms-swift": _swift, "llamafactory": _llamafactory,
    **{name: partial(_openrlhf, name=_NAMES[name]) for name in ("openrlhf", "openrlhf-older")}, "axolotl": _axolotl, "axolotl-older": _axolotl,
}
