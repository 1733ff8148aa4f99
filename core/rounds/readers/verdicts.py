"""From what a scorer wrote to passed or not passed: never by rounding, and never by a guess.

Without a declared rule a boolean is a verdict, the numbers 1 and 0 are pass and fail, and everything else is refused. A declared
rule (options ``pass`` and ``fail``) names the values that pass: ``pass=1``, ``pass=C,P``, ``pass=true``, or a bound such as ``pass=>=0.5``. Numbers
are compared as the decimals that were written.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from operator import ge, gt, le, lt
from typing import Any, Final, NoReturn

from core.errors import RoundError, Where
from core.rounds.columns import CellFault
from core.rounds.note import Note
from core.rounds.readers.format import Declared, Option
from core.rounds.strict import described
from core.settings import SETTINGS
from core.written_numbers import MOST_CHARACTERS, written_decimal

PASS_OPTIONS: Final[Mapping[str, Option]] = {
    "pass": Option("the values that pass, as 1 or C,P or true, or a bound, as >=0.5"),
    "fail": Option("texts that fail, where the scorer writes words of its own"),
}
_BOUND: Final = re.compile(r"(?P<sign>>=|>|<=|<)\s*(?P<number>-?\d+(?:\.\d+)?)")
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_COMPARISONS: Final[Mapping[str, Callable[[Fraction, Fraction], bool]]] = {">=": ge, ">": gt, "<=": le, "<": lt}
_SIGNS: Final = ("<", ">", "=")
_FLAGS: Final = {"true": True, "false": False}
_LOWER: Final = frozenset(SETTINGS["outcomes"]["lower_is_better"])


def check_direction(metric: str, declared: Declared) -> None:
    """Refuse a metric of which more is worse, unless a rule says what passes: read as it stands, its 1 would be a pass."""
    if metric.lower() in _LOWER and "pass" not in declared.options:
        raise RoundError(
            "undeclared_direction", expected=f"a rule that says what passes: of {metric}, lower is better", got="none",
            remedy="declare it, for example --option pass=0 or --option pass=<=0.5", where=Where(declared.file, field=metric),
        )


def decimal(value: int | float, field: str = "") -> Fraction:
    """The decimal that a JSON number was written as, with all its digits; of a double in a table, the shortest that reads back as it: 0.7 is
    7/10. Raises CellFault ``number_too_long`` beyond ``json.number_characters`` characters."""
    exact = written_decimal(value)
    if exact is None:
        raise CellFault(
            field, "number_too_long", f"a number of at most {MOST_CHARACTERS} characters that a double holds nearly", f"a longer one, near {value!r}",
        )
    return exact


class VerdictRule:
    """How the values of one file become verdicts. ``field``: the column they come from; ``letters``: texts that the format itself
    defines (None: defined, but neither a pass nor a fail unless declared); ``names``: the two options that declare the rule."""

    def __init__(
        self, declared: Declared, field: str, letters: Mapping[str, bool | None] | None = None, names: tuple[str, str] = ("pass", "fail"),
    ) -> None:
        self._field, self._file, self._letters, self._names = field, declared.file, dict(letters or {}), names
        passing, failing = names
        self._text: str | None = declared.options.get(passing)
        self._bound: tuple[Callable[[Fraction, Fraction], bool], Fraction] | None = None
        self._passing, self._failing = _listed(self._text), _listed(declared.options.get(failing))
        both = sorted(self._passing & self._failing)
        if both or (self._failing and self._text is None):
            self._refuse(f"{', '.join(both)} in both" if both else f"{failing} without {passing}")
        if self._text is not None and (found := _BOUND.fullmatch(self._text.strip())) is not None:
            self._bound, self._passing = (_COMPARISONS[found["sign"]], Fraction(found["number"])), frozenset()
        elif misspelled := sorted(token for token in self._passing | self._failing if token.startswith(_SIGNS)):
            self._refuse(f"{misspelled[0]!r}, which is no bound such as >=0.5")
        self._numbers = frozenset(Fraction(token) for token in self._passing if _NUMBER.fullmatch(token))
        self._counts = {"number": 0, "text": 0}

    def _refuse(self, got: str) -> NoReturn:
        passing, failing = self._names
        raise RoundError(
            "bad_option", expected="values that pass, or one bound; and texts that fail", got=got, where=Where(self._file, field=f"option {passing}"),
            remedy=f"correct the options {passing} and {failing}",
        )

    def verdict(self, value: Any) -> bool | None:
        """Passed or not; None stays None. Raises CellFault for a value that no rule speaks of."""
        if value is None:
            return None
        if isinstance(value, bool):
            return self._of_flag(value)
        if isinstance(value, (int, float)):
            return self._of_number(value)
        if isinstance(value, str):
            return self._of_text(value)
        raise CellFault(self._field, "undeclared_verdict", self._expected, described(value))

    def notes(self) -> list[Note]:
        """What was made a verdict of, once all rows are read."""
        found: list[Note] = []
        how = "1 became pass and 0 fail" if self._text is None else f"by the declared rule {self._names[0]}={self._text}"
        if self._counts["number"]:
            found.append(Note("numbers_as_verdicts", f"{self._file}: {self._field} is a number in {self._counts['number']} rows: {how}"))
        if self._counts["text"]:
            how = "by the meaning its format gives it" if self._text is None else how
            found.append(Note("texts_as_verdicts", f"{self._file}: {self._field} is a text in {self._counts['text']} rows, read {how}"))
        return found

    def _of_flag(self, value: bool) -> bool:
        declared = {flag for token, flag in _FLAGS.items() if token in self._passing}
        return value in declared if declared else value

    def _of_number(self, value: int | float) -> bool:
        number = decimal(value, self._field)
        if self._bound is not None:
            compare, bound = self._bound
            passed = compare(number, bound)
        elif self._numbers:
            passed = number in self._numbers
        elif number in (0, 1) and self._text is None:
            passed = number == 1
        else:
            raise CellFault(self._field, "undeclared_verdict", self._expected, described(value))
        self._counts["number"] += 1
        return passed

    def _of_text(self, value: str) -> bool:
        if value in self._passing:
            passed = True
        elif value in self._failing or (value in self._letters and self._speaks_of_letters):
            passed = False
        elif self._text is None and self._letters.get(value) is not None:
            passed = bool(self._letters[value])
        else:
            raise CellFault(self._field, "undeclared_verdict", self._expected_text(), described(value))
        self._counts["text"] += 1
        return passed

    @property
    def _expected(self) -> str:
        rule = self._names[0]
        if self._text is not None:
            return f"a value that the declared rule {rule}={self._text} speaks of"
        return f"true, false, 1 or 0, or a rule that says what passes (--option {rule}=1, --option '{rule}=>=0.5')"

    @property
    def _speaks_of_letters(self) -> bool:
        return any(token in self._letters for token in self._passing)

    def _expected_text(self) -> str:
        known = ", ".join(letter for letter, meaning in self._letters.items() if meaning is not None)
        return f"{known or 'a number or a flag'}, or a text that is declared (--option {self._names[0]}=TEXT, --option {self._names[1]}=TEXT)"


def _listed(text: str | None) -> frozenset[str]:
    return frozenset(token.strip() for token in text.split(",") if token.strip()) if text is not None else frozenset()
