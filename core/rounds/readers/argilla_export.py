"""The four spellings in which Argilla hands out its records, as one: fields, and what each person or model answered to a question.

Argilla 2 nested (``Record.to_dict``, ``records.to_json``): ``responses`` is ``{question: [{value, user_id}]}``, without a status.
Argilla 2 flat (``to_list(flatten=True)``, ``to_datasets``): ``question.responses``, ``question.responses.users``, ``question.responses.status``.
Argilla 1 records (``FeedbackRecord``): ``responses`` is ``[{user_id, values: {question: {value}}, status}]``.
Argilla 1 data sets (``format_as("datasets")``): ``question`` is ``[{user_id, value, status}]``, with ``question-suggestion`` beside it.
A list of objects may also come as an object of lists, as ``datasets`` stores its ``Sequence``.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from core.rounds.columns import CellFault
from core.rounds.note import Note, warning
from core.rounds.readers.containers import first_values
from core.rounds.readers.format import Declared, Option
from core.rounds.readers.row_parts import Counts, Row
from core.rounds.strict import described, nearest

SUBMITTED: Final = "submitted"
_STATUSES: Final = (SUBMITTED, "draft", "discarded", "pending")
STATUS_OPTION: Final = Option("answers that bear no status were all submitted, as in Argilla 2's nested export, which leaves it out", (SUBMITTED,))
_FIELDS, _RESPONSES, _SUGGESTIONS = "fields", "responses", "suggestions"
_FLAT: Final = (".responses.users", ".suggestion.agent")


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to one question. ``rater``: the user; None where none is named."""

    rater: str | None
    value: Any


def is_nested(row: Mapping[str, Any]) -> bool:
    """Whether the fields of a record stand under ``fields``."""
    return isinstance(row.get(_FIELDS), dict)


def taken_field(row: Row, name: str) -> Any:
    """The value of a field of the record, taken out of the row. Raises CellFault ``missing_field``."""
    fields = row[_FIELDS] if is_nested(row) else row
    if name not in fields:
        raise CellFault(name, "missing_field", "this field of the record", "nothing")
    return fields.pop(name)


def field_text(row: Mapping[str, Any], name: str) -> Any:
    """The value of a field of the record, None where it has none."""
    value: Any = (row[_FIELDS] if is_nested(row) else row).get(name)
    return value


def answers(row: Mapping[str, Any], question: str, options: Mapping[str, str], counts: Counts) -> list[Answer]:
    """The submitted answers to a question, in their order; those with another status are counted. A user answers once. Raises CellFault."""
    found: list[Answer] = []
    for rater, value, status in _stated(row, question):
        status = options.get("status") if status is None else status
        if status is None:
            raise CellFault(question, "missing_status", "the status of each answer; status=submitted declares that all were submitted", "nothing")
        if status not in _STATUSES:
            raise CellFault(question, "unknown_value", f"one of {', '.join(_STATUSES)}", described(status))
        if status != SUBMITTED:
            counts["answers_left_out", f"answers to {question} are {status} and do not count"] += 1
            continue
        if rater is not None and (not isinstance(rater, str) or any(answer.rater == rater for answer in found)):
            raise CellFault(question, "said_twice", "one answer of each user, who is named by text", described(rater))
        if value is None:
            raise CellFault(question, "missing_score", "a value in each submitted answer", "null")
        found.append(Answer(rater, value))
    return found


def suggested(row: Mapping[str, Any], question: str) -> list[Answer]:
    """The suggestion for a question, as one answer of nobody; none where there is none. Who suggested it is kept with the record: questions
    that several agents answered still make one set of grades. Raises CellFault."""
    if not is_nested(row):
        value = row.get(f"{question}.suggestion", row.get(f"{question}-suggestion"))
        return [] if value is None else [Answer(None, value)]
    suggestions = row.get(_SUGGESTIONS) or {}
    if isinstance(suggestions, dict):
        found = _objects([suggestions[question]], _SUGGESTIONS) if suggestions.get(question) is not None else []
    else:
        found = [item for item in _objects(suggestions, _SUGGESTIONS) if item.get("question_name") == question]
    if len(found) > 1:
        raise CellFault(_SUGGESTIONS, "said_twice", f"one suggestion for {question}", f"{len(found)}")
    return [Answer(None, item["value"]) for item in found if item.get("value") is not None]


def unseen_questions(declared: Declared, questions: Sequence[str]) -> Iterator[Note]:
    """A warning for each question that none of the first nested records names though they name others: it may be misspelled, and a question
    that nobody answered looks the same. (A flat export lacks the question's column then, which is a fault of each row.)"""
    seen = sorted({name for row in first_values(declared.path, declared.file) if isinstance(row, dict) and is_nested(row) for name in _named(row)})
    for question in dict.fromkeys(questions):
        if seen and question not in seen:
            near = nearest(question, seen)
            hint = f"; did you mean {near!r}?" if near else ""
            yield warning("unseen_question", f"{declared.file}: the first records name no question {question!r}, only {', '.join(seen)}{hint}")


def _named(row: Mapping[str, Any]) -> set[str]:
    """The questions that a nested record names."""
    found: set[str] = set()
    for held in (row.get(_RESPONSES), row.get(_SUGGESTIONS)):
        if isinstance(held, dict):
            found |= held.keys()
        for item in held if isinstance(held, list) else []:
            values = item.get("values") if isinstance(item, dict) else None
            found |= values.keys() if isinstance(values, dict) else set()
            name = item.get("question_name") if isinstance(item, dict) else None
            found |= {name} if isinstance(name, str) else set()
    return found


def _stated(row: Mapping[str, Any], question: str) -> Iterator[tuple[Any, Any, Any]]:
    """(user, value, status) of each answer to a question, whatever its status."""
    if not is_nested(row):
        yield from _flat(row, question)
        return
    responses = row.get(_RESPONSES) or []
    if isinstance(responses, dict):
        # Argilla 2: by question
        for item in _objects(responses.get(question) or [], _RESPONSES):
            yield item.get("user_id"), item.get("value"), item.get("status")
        return
    for item in _objects(responses, _RESPONSES):
        # Argilla 1: by user
        values = item.get("values") or {}
        if not isinstance(values, dict):
            raise CellFault(_RESPONSES, "wrong_type", "values by question", described(values))
        if question in values:
            (value,) = _objects([values[question]], _RESPONSES)
            yield item.get("user_id"), value.get("value"), item.get("status")


def _flat(row: Mapping[str, Any], question: str) -> Iterator[tuple[Any, Any, Any]]:
    name = f"{question}.responses"
    if name in row:
        columns = [row.get(key) or [] for key in (f"{name}.users", name, f"{name}.status")]
        users, values, statuses = columns
        if not all(isinstance(column, list) for column in columns) or any(len(column) not in (0, len(values)) for column in columns):
            raise CellFault(name, "lengths_differ", "a user and a status for each answer", "lists of other lengths")
        nothing = [None] * len(values)
        yield from zip(users or nothing, values, statuses or nothing, strict=True)
    elif question in row:
        for item in _objects(row[question] or [], question):
            yield item.get("user_id"), item.get("value"), item.get("status")
    elif f"{question}.suggestion" not in row:
        raise CellFault(question, "missing_field", "answers to this question", "nothing")


def _objects(value: Any, field: str) -> list[Any]:
    """A list of objects, also where it came as an object of lists. Raises CellFault."""
    if isinstance(value, dict):
        value = transposed(value, field)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise CellFault(field, "wrong_type", "a list of objects", described(value))
    return value


def transposed(value: Mapping[str, Any], field: str) -> list[dict[str, Any]]:
    """An object of lists as a list of objects. Raises CellFault where the lists differ in length."""
    columns = list(value.values())
    if not all(isinstance(column, list) for column in columns) or len({len(column) for column in columns}) > 1:
        raise CellFault(field, "wrong_type", "lists of one length", described(value))
    return [dict(zip(value, items, strict=True)) for items in zip(*columns, strict=True)]


def recognise(rows: Sequence[Any]) -> str | None:
    """Why rows are records of Argilla, or None."""
    if not rows or not all(isinstance(row, dict) for row in rows):
        return None
    if all(is_nested(row) and isinstance(row.get(_RESPONSES), (dict, list)) for row in rows):
        return "every row looked at has fields and responses, as Argilla writes its records"
    if all(any(key.endswith(_FLAT) for key in row) for row in rows):
        return "every row looked at has the users or the agent of the answers to a question, as Argilla 2 flattens its records"
    if all(any(f"{key}-suggestion" in row and f"{key}-suggestion-metadata" in row for key in row) for row in rows):
        return "every row looked at has a question with its suggestion and the suggestion's metadata, as Argilla 1 writes its data sets"
    return None
