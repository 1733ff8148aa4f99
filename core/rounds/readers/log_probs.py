"""Log-probabilities of foreign rows: several spellings of one quantity, and the averages that are another.

A trainer logs the sum over the tokens of a completion, or its mean per token, and the names barely differ. So the proposer declares
which it is (option ``logps``); nothing is taken for a sum because of its name. Spellings:
``{policy,ref,reference}_{chosen,rejected}_logps`` (TRL) and ``{policy,ref,reference}_logp_{chosen,rejected}``; with ``mean``, ``avg`` or
``average`` in the name they are averages.
"""
from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, NamedTuple

from core.errors import RoundError, Where
from core.rounds.columns import CellFault
from core.rounds.readers.format import Option
from core.rounds.strict import described

SUMS, PRODUCTS, UNUSED = "sums", "averages_times_tokens", "unused"
OPTION: Final = Option(
    "what the log-prob columns hold: sums over the completion's tokens, averages to be multiplied by the token counts, or nothing that is used",
    (SUMS, PRODUCTS, UNUSED),
)
DECLARE: Final = f"logps={SUMS} if each is the sum over the completion's tokens"
_MODELS: Final = {"policy": "policy", "ref": "ref", "reference": "ref"}
_NAME: Final = re.compile(
    r"(?P<model>policy|ref|reference)_(?:(?P<average>mean|avg|average)_)?"
    r"(?:(?P<side>chosen|rejected)_logps?|logps?_(?P<other>chosen|rejected))(?:_(?P<late>mean|avg|average))?",
)
_AVERAGE: Final = re.compile(r"(?:^|_)(?:mean|avg|average)(?:_|$)")


class Spelling(NamedTuple):
    """What a column name says: the column of ours that it is, and whether it is an average per token."""

    column: str
    average: bool


@lru_cache
def spelling(name: str) -> Spelling | None:
    """What a column holds by its name, or None where it is no log-prob of the policy or the reference."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    column = f"{_MODELS[match['model']]}_logp_{match['side'] or match['other']}"
    return Spelling(column, match["average"] is not None or match["late"] is not None)


def is_average(place: str) -> bool:
    """Whether the last name of a place says that it holds an average."""
    return _AVERAGE.search(place.rpartition(".")[-1].lower()) is not None


def undeclared(row: dict[str, Any]) -> str | None:
    """The first column of a row that holds log-probs by its name, or None."""
    return next((name for name, _ in _spelled(row)), None)


def _spelled(row: dict[str, Any]) -> Iterator[tuple[str, Spelling]]:
    for name in row:
        found = spelling(name)
        if found is not None:
            yield name, found


def check_declared(row: dict[str, Any], declared: str | None, where: Where) -> None:
    """Refuse the file of a row that has log-probs that nobody declared, averages where sums are declared and none is there, or the reverse."""
    found = list(_spelled(row))
    sums, averages = ({item.column for _, item in found if item.average is average} for average in (False, True))
    for name, item in found:
        if declared is None:
            _refuse(where, name, "undeclared_logps", f"the option logps, one of {', '.join(OPTION.choices)}", "none",
                    f"declare {DECLARE}")
        if declared == SUMS and item.average and item.column not in sums:
            _refuse(where, name, "averaged_logps", "a sum over the completion's tokens", "an average per token",
                    f"hand over sums, or declare logps={PRODUCTS} if the token counts are those of the averages")
        if declared == PRODUCTS and not item.average and item.column not in averages:
            _refuse(where, name, "summed_logps", "an average per token, with mean or avg in its name", "a column that is named as a sum",
                    f"declare logps={SUMS} if it is one, or name the column {name}_mean if it holds averages")


def _refuse(where: Where, name: str, code: str, expected: str, got: str, remedy: str) -> None:
    raise RoundError(code, expected=expected, got=got, remedy=remedy, where=Where(where.file, where.line, name))


def renamed(row: dict[str, Any], declared: str | None) -> dict[str, Any]:
    """A row with its declared log-probs under our names; the others stay where they are. Raises CellFault."""
    if declared is None or declared == UNUSED:
        # our own names are no stray column: they would be read as sums
        return {_unused_name(name) if declared == UNUSED else name: value for name, value in row.items()}
    changed = dict(row)
    for name, item in _spelled(row):
        if item.average != (declared == PRODUCTS):
            continue
        value = changed.pop(name)
        if item.column in changed:
            raise CellFault(name, "said_twice", f"one column for {item.column}", "two")
        changed[item.column] = _product(name, value, row, item.column) if item.average else value
    return changed


def _unused_name(name: str) -> str:
    found = spelling(name)
    return f"unused_{name}" if found is not None and name == found.column else name


def _product(name: str, average: Any, row: dict[str, Any], column: str) -> float | None:
    """The sum that an average and a token count make: their exact product, rounded once to a double."""
    if average is None:
        return None
    count_name = f"{column.rpartition('_')[-1]}_token_count"
    count = row.get(count_name)
    if type(count) is not int or count < 1:
        raise CellFault(count_name, "bad_token_count", f"the count of tokens that {name} is an average over", described(count))
    if isinstance(average, bool) or not isinstance(average, (int, float)):
        raise CellFault(name, "wrong_type", "a number", described(average))
    if not math.isfinite(average):
        return float(average)
    try:
        return float(Fraction(repr(average)) * count)
    except OverflowError:
        raise CellFault(name, "number_out_of_range", f"an average that times {count} fits a double", described(average)) from None
