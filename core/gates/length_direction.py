"""Whether pairs made from rollouts lean to longer, or to shorter, replies more than chance: the exact two-sided sign test, at the grid's level.

Length matching brings the two sides of each pair as near as the rollouts allow; it does not make the sign of what is left fall both ways. A
trainer learns that sign: pairs whose chosen reply is nearly always the longer one teach "write longer".
"""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from core.grid import Grid
from core.pairs.pairing_report import LengthFigures, PairingReport
from core.statistics.probability import level_text
from core.statistics.ratio import percent_text
from core.statistics.sign_test import SignTest, sign_test

CODE: Final = "length_direction"
_KEY: Final = "evidence_confidence"
NO_LEVEL: Final = f"the grid sets no {_KEY}"
NO_DIFFERENCE: Final = "no pair has replies of different lengths"
Warned = tuple[str, str]


@dataclass(frozen=True, slots=True)
class LengthDirection:
    """``test``: chosen longer against rejected longer; ``equal``: pairs of one length, left out of it. ``alpha`` = 1 - the grid's
    ``evidence_confidence``, None where the grid has none: p is said then, and nothing is concluded."""

    test: SignTest
    equal: int
    alpha: Fraction | None

    @classmethod
    def of(cls, length: LengthFigures, grid: Grid) -> LengthDirection:
        test = sign_test(length.chosen_longer, length.rejected_longer)
        return cls(test, length.pairs - test.n, 1 - grid.fraction(_KEY) if _KEY in grid else None)

    @property
    def undefined(self) -> str | None:
        """Why nothing can be concluded; None where it can."""
        if not self.test.n:
            return NO_DIFFERENCE
        return NO_LEVEL if self.alpha is None else None

    @property
    def leans(self) -> bool | None:
        """Whether one side is the longer one more often than chance explains; None where that is undefined."""
        return None if self.undefined is not None or self.alpha is None else self.test.shown(self.alpha)

    @property
    def words(self) -> str:
        """``30 against 8, sign test p = .0005, 2 of equal length``, or why there is none."""
        if not self.test.n:
            return f"undefined: {NO_DIFFERENCE}"
        level = f"; {NO_LEVEL}, so nothing is concluded" if self.alpha is None else ""
        return f"{self.test.first:,} against {self.test.second:,}, sign test {self.test.p.text(self.alpha)}, {self.equal:,} of equal length{level}"

    @property
    def warning(self) -> Warned | None:
        """(code, sentence) where the pairs lean; None otherwise."""
        if not self.leans or self.alpha is None:
            return None
        more, n = max(self.test.first, self.test.second), self.test.n
        side = "longer" if self.test.first > self.test.second else "shorter"
        return CODE, (
            f"in {more:,} of the {n:,} pairs whose replies differ in length the chosen one is the {side} ({percent_text(Fraction(more, n))}, exact "
            f"sign test {self.test.p.text(self.alpha)}, at most {level_text(self.alpha)}; {self.equal:,} of equal length left out): a trainer "
            f"learns to write {side} replies as well. More rollouts a task give length matching nearer ones to choose from."
        )

    def as_dict(self) -> dict[str, Any]:
        """JSON members."""
        return {
            "test": "exact two-sided sign test, chosen longer against rejected longer", "n": self.test.n, "equal": self.equal,
            "p": self.test.p.as_dict() if self.test.n else None, "alpha": None if self.alpha is None else level_text(self.alpha),
            "leans": self.leans, "undefined": self.undefined, "words": self.words,
        }


def pairing_document(found: PairingReport, grid: Grid) -> dict[str, Any]:
    """The report on a pairing as JSON, with the direction of its lengths under the grid."""
    document, direction = found.as_dict(), LengthDirection.of(found.length, grid)
    document["length"]["direction"] = direction.as_dict()
    if direction.warning is not None:
        code, text = direction.warning
        document["warnings"].append({"code": code, "text": text})
    return document
