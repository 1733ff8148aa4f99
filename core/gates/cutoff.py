"""What a declared training cut-off makes of the admitted pairs, as the curation gate reports it. A warning: it rejects no pair.

Stored in the assessment (member ``cutoff``) only where the round declares a cut-off. Nothing of it is signed: the statement names the
round, whose digest covers the declaration, and every engine computes the same report from it (decision 018).
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from core.pairs.cutoff import BASES, COMPLETION_CHARACTERS, ESTIMATED, EXACT, PROVED, CutOff, Equal
from core.pairs.cutoff_batch import SIDES, CutCount, EqualPair
from core.settings import SETTINGS
from core.statistics.ratio import decimal_text, json_double, json_integer
from core.text import count_of

CODE: Final = "equal_under_cutoff"
KEPT: Final = "A cut-off rejects none: they are kept, and would train nothing."
_LISTED: Final[int] = SETTINGS["cutoff"]["listed"]
_DECIMALS: Final[int] = SETTINGS["cutoff"]["token_decimals"]
_TOKENS_UNKNOWN: Final = (
    "A round holds no token ids: proved holds for any vocabulary whose tokens stand for at least one byte of the answer each, but for one end "
    "token, and that does not join a word to the white space behind it; estimated goes by each answer's own tokens per character."
)
_PROMPT_UNKNOWN: Final = (
    "A round does not hold the prompt's token count: it is estimated by the answers' tokens per character, without what a chat template adds."
)
_MESSAGES_UNKNOWN: Final = "For an answer given as messages, what the chat template adds is not known either, so nothing of it is proved by tokens."


@dataclass(frozen=True)
class CutOffReport:
    """``pairs``: admitted pairs. ``cut``: how many of them lose text of a side for certain; ``cut_estimated``: how many more by the
    estimated length of the prompt. ``equal``: those that the cut-off makes equal, in the order of the input."""

    cutoff: CutOff
    pairs: int
    cut: Mapping[str, int]
    cut_estimated: Mapping[str, int]
    equal: tuple[EqualPair, ...]

    @classmethod
    def of(cls, counted: CutCount, admitted: npt.NDArray[np.int64]) -> CutOffReport:
        """``admitted``: positions of the admitted pairs among the counted ones."""
        certain, more, equal = counted.among(admitted)
        return cls(counted.cutoff, len(admitted), certain, more, tuple(equal))

    def as_dict(self) -> dict[str, Any]:
        """JSON members; ``listed`` has the first pairs that become equal, ``left_out`` how many more there are."""
        bases = Counter(pair.found.basis for pair in self.equal)
        counts = {"total": len(self.equal), **{basis: bases[basis] for basis in BASES}}
        document = {
            "declared": self.cutoff.document(), "text": self.cutoff.words(), "pairs": self.pairs,
            **{f"{side}_cut": self.cut[side] for side in SIDES}, **{f"{side}_cut_estimated": self.cut_estimated[side] for side in SIDES},
            "equal": counts | {"nothing_left": sum(pair.found.nothing_left for pair in self.equal)},
            "listed": [_listed(pair, self.cutoff) for pair in self.equal[:_LISTED]], "left_out": max(0, len(self.equal) - _LISTED),
            "not_known": not_known(self.cutoff),
        }
        return document | {"sentences": [headline(document), *_cut_sentences(document)]}


def _listed(pair: EqualPair, cutoff: CutOff) -> dict[str, Any]:
    found = pair.found
    estimates = None if found.estimates is None else dict(zip(SIDES, map(_rational, found.estimates), strict=True))
    return {
        "ordinal": pair.ordinal, "pair_id": pair.pair_id, "basis": found.basis, "shared_characters": found.shared,
        "shared_tokens_at_least": found.at_least if found.basis == PROVED else None, "shared_tokens_estimated": estimates,
        "prompt_tokens_estimated": None if found.prompt_tokens is None else _rational(found.prompt_tokens),
        "nothing_left": found.nothing_left, "text": equal_words(cutoff, found),
    }


def _rational(value: Fraction) -> dict[str, Any]:
    return {"numerator": json_integer(value.numerator), "denominator": json_integer(value.denominator), "value": json_double(value)}


def not_known(cutoff: CutOff) -> list[str]:
    """What nobody can say from a round about a cut-off of this kind."""
    if cutoff.counts == COMPLETION_CHARACTERS:
        return []
    return [_TOKENS_UNKNOWN, *([_PROMPT_UNKNOWN] if cutoff.prompt_counts else []), _MESSAGES_UNKNOWN]


def equal_words(cutoff: CutOff, found: Equal) -> str:
    """Why a pair is equal under the cut-off, in one sentence without the pair's id."""
    shared = f"{count_of(found.shared, 'character')} at the {cutoff.keeps} {'is' if found.shared == 1 else 'are'} the same"
    return f"Cut to {cutoff.words()}, chosen and rejected are the same ({found.basis}): {shared}{_tokens_words(cutoff, found)}."


def _tokens_words(cutoff: CutOff, found: Equal) -> str:
    if found.basis == EXACT or found.estimates is None:
        return ", in the text that is made of the messages" if found.basis == ESTIMATED else ""
    if found.basis == PROVED:
        return f", at least {count_of(found.at_least, 'token')}"
    low, high = (decimal_text(value, _DECIMALS) for value in sorted(found.estimates))
    about = f", about {low if low == high else f'{low} to {high}'} tokens"
    if found.prompt_tokens is None:
        return about
    prompt = f"the prompt takes about {decimal_text(found.prompt_tokens, _DECIMALS)}"
    if found.nothing_left:
        return f"{about}; {prompt}, so that nothing of either answer is left"
    return f"{about}; {prompt}, which leaves about {decimal_text(cutoff.length - found.prompt_tokens, _DECIMALS)}"


def headline(document: Mapping[str, Any]) -> str:
    """The finding in one sentence, from the stored member ``cutoff``."""
    total, said = document["equal"]["total"], finding(document)
    if not total:
        return f"{said}."
    return f"{said}, {'pair' if total == 1 else 'the first is pair'} {document['listed'][0]['pair_id']}. {KEPT}"


def finding(document: Mapping[str, Any]) -> str:
    """How many admitted pairs become equal: a sentence without its full stop, and without a pair's id."""
    equal, kept = document["equal"], f"Training keeps {document['text']}"
    if not equal["total"]:
        return f"{kept}: no admitted pair was found that this makes equal"
    named = ", ".join(f"{equal[basis]:,} {basis}" for basis in BASES if equal[basis])
    return f"{kept}: that makes chosen and rejected equal in {equal['total']:,} of {count_of(document['pairs'], 'admitted pair')} ({named})"


def _cut_sentences(document: Mapping[str, Any]) -> list[str]:
    sides = [f"{count_of(document[f'{side}_cut'], f'{side} answer')}{_more(document[f'{side}_cut_estimated'])}" for side in SIDES]
    said = [f"Of the admitted pairs it cuts {' and '.join(sides)}."]
    left = document["equal"]["nothing_left"]
    if left:
        said.append(f"In {count_of(left, 'pair')} the prompt alone fills it, by estimate: some trainers leave such pairs out.")
    return said


def _more(count: int) -> str:
    return f" (and {count:,} more by estimate)" if count else ""


def cutoff_notes(document: Mapping[str, Any] | None) -> list[dict[str, str]]:
    """The note of the engine where a cut-off makes admitted pairs equal. ``document``: the member ``cutoff``."""
    return [{"code": CODE, "text": headline(document)}] if document is not None and document["equal"]["total"] else []
