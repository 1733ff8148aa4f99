"""What several people answered to one question of Argilla's records, as the round's ratings: a case, a rater, a label.

Only submitted answers count. A label is the text of a label question, or the decimal text of a rating; rankings and lists of labels are no
label and refuse the file. Nothing tells an export of ratings from one of pairs, so the format has to be named.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from core.rounds.columns import CellFault
from core.rounds.note import Note, warning
from core.rounds.readers.argilla_export import STATUS_OPTION, answers, unseen_questions
from core.rounds.readers.format import Declared, Format, Option
from core.rounds.readers.places import IdPlace
from core.rounds.readers.row_parts import Counts, never
from core.rounds.readers.spread import spread
from core.rounds.strict import described
from core.rounds.typing_rows import RawRow

_NAME: Final = "argilla-ratings"
_OPTIONS: Final[Mapping[str, Option]] = {
    "question": Option("the question whose answers are the labels", required=True),
    "case": Option("the key that names the case of a record: id in Argilla 2, external_id in Argilla 1, or a place such as metadata.case_id",
                   required=True),
    "status": STATUS_OPTION,
}


class _Ratings:
    """Makes the ratings of one file, and says afterwards what was made of it."""

    def __init__(self, declared: Declared) -> None:
        self._declared, self._question = declared, declared.options["question"]
        self._case = IdPlace(declared.options["case"], _NAME, integers=False)
        self._counts: Counts = Counter()
        self._read = self._made = self._silent = self._numbers = 0

    def ratings(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        """The ratings of one record. Raises CellFault."""
        found = answers(row, self._question, self._declared.options, self._counts)
        self._read, self._made, self._silent = self._read + 1, self._made + len(found), self._silent + (not found)
        if not found:
            return []
        case = self._case.identifier(row)
        return [{"case_id": case, "rater_id": answer.rater, "label": self._label(answer.value)} for answer in found]

    def _label(self, value: Any) -> str:
        if type(value) is int:
            self._numbers += 1
            return str(value)
        if not isinstance(value, str):
            raise CellFault(self._question, "wrong_type", "a rating, or one label", described(value))
        return value

    def notes(self) -> Iterator[Note]:
        """What was made of the records."""
        file = self._declared.file
        yield Note("ratings_made", f"{file}: {self._read} records hold {self._made} submitted answers to {self._question}")
        for (code, text), count in self._counts.items():
            yield Note(code, f"{file}: {count} {text}")
        if self._numbers:
            yield Note("numbered_labels", f"{file}: {self._numbers} answers are integers and became their decimal text")
        if self._silent:
            yield warning("no_answer", f"{file}: {self._silent} records have no submitted answer to {self._question} and give no rating")


def _rows(declared: Declared) -> Iterator[RawRow]:
    made = _Ratings(declared)
    declared.notes.extend(unseen_questions(declared, [declared.options["question"]]))
    return spread(declared, made.ratings, made.notes)


FORMAT: Final = Format(_NAME, "ratings", "Argilla's records: the labels that several people gave", _rows, never, _OPTIONS, spreads=True)
