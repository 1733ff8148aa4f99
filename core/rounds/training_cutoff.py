"""``training_cutoff`` of round.json: the cut-off that the trainer will use, as the proposer declares it.

Stored only where it was declared, so that every other round keeps its digest. It rejects no pair: what it makes equal is a warning
(``core/pairs/cutoff.py``, decision 018).
"""
from __future__ import annotations

from typing import Final

from core.errors import RoundError, Where
from core.pairs.cutoff import COUNTS, KEEPS, START, CutOff
from core.rounds.strict import Reader
from core.settings import SETTINGS

KEY: Final = "training_cutoff"
_KEYS: Final = ("length", "counts", "keeps")
_MOST: Final[int] = SETTINGS["json"]["max_safe_integer"]


def read_cutoff(round_json: Reader, *, stored: bool) -> CutOff | None:
    """The cut-off of a round.json, or None where none is declared. A stored one has all keys; a proposer may leave out ``keeps``, which is
    then the start. Raises RoundError naming the place."""
    if not round_json.has(KEY) and not (stored and KEY in round_json.value):
        return None
    source = round_json.object(KEY)
    source.keys(_KEYS, _KEYS if stored else _KEYS[:-1])
    length = source.integer("length")
    if not 0 < length <= _MOST:
        source.refuse("length", "out_of_range", f"a whole number of 1 to {_MOST}", f"{length}", "write how many tokens or characters are kept")
    return CutOff(length, source.choice("counts", COUNTS), source.choice("keeps", KEEPS) if stored or source.has("keeps") else START)


def declared_twice(stated: CutOff, other: CutOff) -> RoundError:
    """The refusal of a cut-off that contradicts the one of the input."""
    return RoundError(
        "said_twice", expected=f"{stated.words()}, as the round.json declares", got=other.words(),
        remedy="declare the cut-off once: in round.json, or as an option", where=Where(field=KEY),
    )
