"""Judge records out of what JudgeBench's ``run_judge.py`` writes: a pair, its objective label, and the judge's decision in one or both orders.

The benchmark's own rows have a ``label`` and no judge, so they are no judge records; only the output files have both (``judgments``). Each
judgment becomes a record: ``verifier_passed`` says that the label names answer A, ``rubric_approved`` that the judge did. The second judgment
saw the answers in the other order (``order_swapped``), and its decision is turned back to the original numbering, as JudgeBench's metric does.
Lengths are counted in characters of the answers as shown.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from core.rounds.columns import CellFault
from core.rounds.note import Note, warning
from core.rounds.readers.format import Declared, Format, Option
from core.rounds.readers.row_parts import all_have
from core.rounds.readers.spread import spread
from core.rounds.strict import described
from core.rounds.typing_rows import RawRow

_FIRST, _SECOND, _TIE = "1", "2", "tie"
_DECISIONS: Final[Mapping[str, str]] = {"A>B": _FIRST, "B>A": _SECOND, "A=B": _TIE}
_SWAPPED: Final[Mapping[str, str]] = {_FIRST: _SECOND, _SECOND: _FIRST, _TIE: _TIE}
_LABELS: Final[Mapping[str, bool]] = {"A>B": True, "B>A": False}
_TIES: Final[Mapping[str, bool | None]] = {"not_approved": False, "no_verdict": None}
_NO_VERDICT: Final = "no_verdict"
_TEXTS: Final = ("pair_id", "question", "response_A", "response_B")
_READ: Final = (*_TEXTS, "source", "label", "judgments")
_OPTIONS: Final[Mapping[str, Option]] = {
    "judge": Option("the judge of all records", required=True),
    "ties": Option("what a decision A=B is: a verdict that does not approve answer A, or none", tuple(_TIES)),
    "other_decisions": Option("decisions other than A>B, B>A and A=B are no verdict", (_NO_VERDICT,)),
}


class _Run:
    """Makes the records of one output file."""

    def __init__(self, declared: Declared) -> None:
        self._declared, self._options = declared, declared.options
        self._judge: tuple[Any, Any] | None = None
        self._counts: Counter[str] = Counter()

    def records(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        """The records of one pair. Raises CellFault."""
        for name in _TEXTS:
            if not isinstance(row.get(name), str):
                raise CellFault(name, "wrong_type" if name in row else "missing_field", "text", described(row.get(name)))
        label, judgments = row.get("label"), row.get("judgments")
        if not isinstance(label, str) or label not in _LABELS:
            raise CellFault("label", "unknown_value", f"one of {', '.join(_LABELS)}", described(label))
        if judgments is None:
            raise CellFault("judgments", "missing_field", "a judge's decision beside the label, as run_judge.py writes it to outputs", "nothing")
        if not isinstance(judgments, list) or len(judgments[1:]) > 1 or not judgments:
            raise CellFault("judgments", "wrong_type", "one judgment, or one in each order", described(judgments))
        self._counts["pairs"] += 1
        return [self._record(row, label, judgment, order) for order, judgment in enumerate(judgments)]

    def _record(self, row: Mapping[str, Any], label: str, judgment: Any, order: int) -> dict[str, Any]:
        if judgment is not None and not isinstance(judgment, dict):
            raise CellFault("judgments", "wrong_type", "a judgment, or null where the judge failed", described(judgment))
        told = (judgment or {}).get("judgment")
        about = told if isinstance(told, dict) else {}
        if about:
            self._check_judge(row.get("judge_name"), about.get("judge_model"))
        choice = self._choice((judgment or {}).get("decision"))
        choice = _SWAPPED[choice] if choice is not None and order else choice
        lengths = [len(row["response_A"]), len(row["response_B"])]
        record: dict[str, Any] = {
            "judge_id": self._options["judge"], "case_id": row["pair_id"], "order_swapped": bool(order), "verifier_passed": _LABELS[label],
            "rubric_approved": _TIES[self._options["ties"]] if choice == _TIE else None if choice is None else choice == _FIRST,
            "choice": choice, "slice": row.get("source"), "prompt": row["question"], "response": row["response_A"], "response_b": row["response_B"],
            "length_first": lengths[order], "length_second": lengths[1 - order], "rationale": about.get("response") or None,
        }
        rest = {name: value for name, value in row.items() if name not in _READ}
        rest |= {"judgment": {name: value for name, value in about.items() if name != "response"}} if about else {}
        if twice := sorted(record.keys() & rest.keys()):
            raise CellFault(twice[0], "said_twice", "a key that JudgeBench writes", "one of our own columns beside it")
        return record | rest

    def _check_judge(self, name: Any, model: Any) -> None:
        if self._judge is None:
            self._judge = name, model
        if self._judge != (name, model):
            raise CellFault("judge_model", "several_judges", f"one judge in a file: {described(self._judge)}", described((name, model)))

    def _choice(self, decision: Any) -> str | None:
        self._counts["records"] += 1
        if decision is None:
            self._counts["silent"] += 1
            return None
        if not isinstance(decision, str) or decision not in _DECISIONS:
            if "other_decisions" not in self._options:
                raise CellFault("decision", "undeclared_verdict", f"one of {', '.join(_DECISIONS)}; or declare other_decisions={_NO_VERDICT}",
                                described(decision))
            self._counts["other"] += 1
            return None
        choice = _DECISIONS[decision]
        if choice == _TIE:
            self._counts["ties"] += 1
            if "ties" not in self._options:
                raise CellFault("decision", "undeclared_verdict", f"a decision for one answer; or declare ties={' or '.join(_TIES)}", decision)
        return choice

    def notes(self) -> Iterator[Note]:
        """What was made of the pairs."""
        file, counts = self._declared.file, self._counts
        yield Note("judgments_read", f"{file}: {counts['pairs']} pairs hold {counts['records']} judgments; each became a record")
        if counts["ties"]:
            yield Note("tied_judgments", f"{file}: {counts['ties']} judgments are ties, read as {self._options['ties']}, as declared")
        if counts["other"]:
            yield warning("other_decisions", f"{file}: {counts['other']} judgments name no answer and are no verdict, as declared")
        if counts["silent"]:
            yield warning("no_verdict", f"{file}: {counts['silent']} judgments are missing; their records stay without a verdict")


def _rows(declared: Declared) -> Iterator[RawRow]:
    made = _Run(declared)
    return spread(declared, made.records, made.notes)


def _recognise(rows: Sequence[Any], path: Path) -> str | None:
    if not all_have(rows, *_TEXTS, "label", "judgments"):
        return None
    return "every row looked at has a JudgeBench pair, its label and judgments"


FORMAT: Final = Format("judgebench", "judge_records", "JudgeBench: what a judge decided about its pairs", _rows, _recognise, _OPTIONS, spreads=True)
