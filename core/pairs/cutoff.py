"""Answers that a trainer's cut-off makes equal: a pair whose answers part only behind the cut trains nothing.

No tokenizer is here, only texts and each side's own token count. So one of three things is said of a pair:

``exact``      the cut-off counts characters, and the kept characters are the same.
``proved``     it counts tokens, and whatever the vocabulary, the kept tokens are the same. Every token but one (the end token that
               a trainer adds) stands for at least one byte of the answer, so at most as many tokens as bytes touch the text behind a
               place; all others lie before it. Tokens before a place where a word ends in white space that both answers share are the
               same on both sides: no word-splitting tokenizer merges across it. At least ``tokens - 1 - bytes behind`` of them.
``estimated``  that is not enough, and by each side's own tokens per character the answers part behind the cut all the same.

An answer given as messages is never ``proved`` by tokens: a chat template adds tokens that nobody counted here; nor is one with more
tokens than its bytes allow. Whether the kept parts
*differ* is certain where the first ``length`` bytes differ: so many tokens cover at least as many bytes.
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

COMPLETION_TOKENS, SEQUENCE_TOKENS, COMPLETION_CHARACTERS = "completion_tokens", "sequence_tokens", "completion_characters"
COUNTS: Final = (COMPLETION_TOKENS, SEQUENCE_TOKENS, COMPLETION_CHARACTERS)
"""What a cut-off counts: tokens of the answer, tokens of prompt and answer together, or characters of the answer."""
START, END = "start", "end"
KEEPS: Final = (START, END)
"""Which end of what is too long is kept."""
EXACT, PROVED, ESTIMATED = "exact", "proved", "estimated"
BASES: Final = (EXACT, PROVED, ESTIMATED)
TEXT, MESSAGE, FLATTENED = "text", "message", "flattened"
"""An answer was given as text, as one plain message (whose content is compared), or as messages that were made into text."""


@dataclass(frozen=True, slots=True)
class CutOff:
    """A declared training cut-off. ``length``: how many tokens or characters are kept; what is exactly as long is kept whole."""

    length: int
    counts: str
    keeps: str = START

    def document(self) -> dict[str, Any]:
        return {"length": self.length, "counts": self.counts, "keeps": self.keeps}

    @property
    def prompt_counts(self) -> bool:
        """Whether the prompt takes room from the answer. Where the end is kept, it does not: the answer is the end."""
        return self.counts == SEQUENCE_TOKENS and self.keeps == START

    def words(self) -> str:
        """``the first 1,024 tokens of each answer``."""
        unit = "characters" if self.counts == COMPLETION_CHARACTERS else "tokens"
        what = "prompt and answer together" if self.counts == SEQUENCE_TOKENS else "each answer"
        return f"the {'first' if self.keeps == START else 'last'} {self.length:,} {unit if self.length != 1 else unit[:-1]} of {what}"


@dataclass(frozen=True, slots=True)
class Answers:
    """One pair as a cut-off sees it. ``given``: TEXT, MESSAGE or FLATTENED; token counts are those of the round. ``prompt``: characters of
    the prompt; ``characters``: of both answers together, as the round holds them, so with the role names of messages."""

    prompt: int
    chosen: str
    rejected: str
    chosen_tokens: int
    rejected_tokens: int
    characters: int
    given: str = TEXT

    @property
    def prompt_tokens(self) -> Fraction:
        """Tokens of the prompt by the answers' own rate, tokens per character of both together. An estimate: a round has no such count."""
        return Fraction(self.prompt * (self.chosen_tokens + self.rejected_tokens), self.characters)


@dataclass(frozen=True, slots=True)
class Equal:
    """Two answers that are the same once they are cut. ``shared``: characters that they have in common at the kept end;
    ``at_least``: tokens that were proved to be common; ``estimates``: the common tokens by the rate of chosen and of rejected;
    ``prompt_tokens``: the estimated tokens of the prompt where they count; ``nothing_left``: by that estimate the prompt fills
    the cut-off alone."""

    basis: str
    shared: int
    at_least: int = 0
    estimates: tuple[Fraction, Fraction] | None = None
    prompt_tokens: Fraction | None = None
    nothing_left: bool = False


def answers_of(text: Mapping[str, Any], chosen_tokens: int, rejected_tokens: int, *, prompt: int) -> Answers:
    """A pair from the answers of a row of TEXT, and the characters of its prompt. The answers of one plain message each (role and content
    alone, the same role) are their contents."""
    chosen, rejected = str(text["chosen"] or ""), str(text["rejected"] or "")
    counts = chosen_tokens, rejected_tokens, len(chosen) + len(rejected)
    if not (text["chosen_messages"] or text["rejected_messages"]):
        return Answers(prompt, chosen, rejected, *counts)
    one, other = (_plain(text[f"{side}_messages"]) for side in ("chosen", "rejected"))
    if one is None or other is None or one["role"] != other["role"]:
        return Answers(prompt, chosen, rejected, *counts, FLATTENED)
    return Answers(prompt, one["content"], other["content"], *counts, MESSAGE)


def _plain(side: str | None) -> dict[str, str] | None:
    messages = json.loads(side) if side else []
    if len(messages) == 1 and set(messages[0]) == {"role", "content"} and isinstance(messages[0]["content"], str):
        return dict(messages[0])
    return None


def equal_under(cutoff: CutOff, pair: Answers) -> Equal | None:
    """What the cut-off makes of a pair: Equal, or None where its answers still differ or nothing says that they do not. Answers that
    are the same uncut are no matter of a cut-off, and answers without characters or tokens of none of it: None."""
    if pair.chosen == pair.rejected or not (pair.chosen and pair.rejected):
        return None
    if cutoff.counts == COMPLETION_CHARACTERS:
        return _by_characters(cutoff, pair)
    return _by_tokens(cutoff, pair) if min(pair.chosen_tokens, pair.rejected_tokens) > 0 else None


def _by_characters(cutoff: CutOff, pair: Answers) -> Equal | None:
    if _kept(pair.chosen, cutoff) != _kept(pair.rejected, cutoff):
        return None
    return Equal(ESTIMATED if pair.given == FLATTENED else EXACT, shared_characters(pair.chosen, pair.rejected, cutoff.keeps))


def _kept(text: str, cutoff: CutOff) -> str:
    return text[:cutoff.length] if cutoff.keeps == START else text[-cutoff.length:]


def _by_tokens(cutoff: CutOff, pair: Answers) -> Equal | None:
    fewest, most = sorted((pair.chosen_tokens, pair.rejected_tokens))
    prompt = pair.prompt_tokens if cutoff.prompt_counts else 0
    room = cutoff.length - prompt
    # one that is shorter than the cut is kept whole, and then the other, being different, would have to end where it does
    if fewest < room or most <= room:
        return None
    shared = shared_characters(pair.chosen, pair.rejected, cutoff.keeps)
    within = pair.chosen_tokens * shared >= room * len(pair.chosen) and pair.rejected_tokens * shared >= room * len(pair.rejected)
    at_least = _tokens_in_common(pair, shared, cutoff) if pair.given == TEXT and _counts_fit(pair) else 0
    if at_least >= cutoff.length:
        basis = PROVED
    elif within and (cutoff.prompt_counts or _same_bytes(pair, cutoff)):
        basis = ESTIMATED
    else:
        return None
    estimates = (Fraction(pair.chosen_tokens * shared, len(pair.chosen)), Fraction(pair.rejected_tokens * shared, len(pair.rejected)))
    return Equal(basis, shared, at_least, estimates, pair.prompt_tokens if cutoff.prompt_counts else None, cutoff.prompt_counts and room <= 0)


def _counts_fit(pair: Answers) -> bool:
    """Whether each answer has bytes enough for its tokens but one. Where it has not, tokens were counted that stand for no text."""
    return all(tokens - 1 <= len(text.encode()) for text, tokens in ((pair.chosen, pair.chosen_tokens), (pair.rejected, pair.rejected_tokens)))


def _same_bytes(pair: Answers, cutoff: CutOff) -> bool:
    """Whether the answers agree in as many bytes as the kept tokens cover at least. The end token, which has none, is kept with the end."""
    chosen, rejected = pair.chosen.encode(), pair.rejected.encode()
    if cutoff.keeps == START:
        return chosen[:cutoff.length] == rejected[:cutoff.length]
    sure = cutoff.length - 1
    return min(len(chosen), len(rejected)) >= sure and chosen[len(chosen) - sure:] == rejected[len(rejected) - sure:]


def shared_characters(one: str, other: str, keeps: str) -> int:
    """How many characters two texts have in common at their start, or at their end."""
    if keeps == END:
        one, other = one[::-1], other[::-1]
    most = min(len(one), len(other))
    low, step = 0, 1
    while low < most and one[low:low + step] == other[low:low + step]:
        low, step = min(low + step, most), step + step
    high = min(low + step, most)
    while low < high:
        middle = high - ((high - low) >> 1)
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _tokens_in_common(pair: Answers, shared: int, cutoff: CutOff) -> int:
    """How many tokens both answers certainly share at the kept end; at most the tokens that one of them has (module docstring)."""
    place = _word_end(pair, shared, cutoff)
    if place is None:
        return 0
    sides = ((pair.chosen, pair.chosen_tokens), (pair.rejected, pair.rejected_tokens))
    if cutoff.keeps == START:
        return max(0, *(tokens - 1 - len(text[place:].encode()) for text, tokens in sides))
    # places count from the end here: what lies behind the cut is the head
    return max(0, *(tokens - 1 - len(text[:len(text) - place].encode()) for text, tokens in sides))


def _word_end(pair: Answers, shared: int, cutoff: CutOff) -> int | None:
    """The place nearest to where the answers part at which a word ends in white space, both inside what they share: as the number of
    characters kept before it (keeping the start) or from it on (keeping the end). None where there is none, or none that could prove
    anything: each character behind it may be a token."""
    text, least = pair.chosen, min(len(pair.chosen) - pair.chosen_tokens, len(pair.rejected) - pair.rejected_tokens) + cutoff.length
    places = range(shared - 1, max(0, least), -1)
    if cutoff.keeps == START:
        return next((place for place in places if _ends_word(text, place)), None)
    return next((kept for kept in places if _ends_word(text, len(text) - kept)), None)


def _ends_word(text: str, place: int) -> bool:
    return text[place].isspace() and text[place - 1].isalnum()
