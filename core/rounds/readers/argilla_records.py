"""Pairs out of Argilla's records: the fields that hold the replies, and the question whose answers decide between them.

One ranking question over the replies (``ranking=preference``; its values are the names of fields, or are mapped by ``reply.VALUE=FIELD``), or one
rating question for each reply (``rating.FIELD=QUESTION``), or one question whose answer names the better of two (``label=preference``): what
each of its labels says is declared, ``choice.LABEL=FIELD`` or ``neither.LABEL=tie``, and no label is taken by its wording. Only submitted
answers count. Users who do not all choose the same two replies quarantine the row, unless ``reducer`` says how many become one;
``answers=suggestions`` lets the suggestions decide instead of the users.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NoReturn

from core.errors import RoundError, Where
from core.rounds.columns import CellFault
from core.rounds.readers.argilla_export import (
    STATUS_OPTION,
    Answer,
    answers,
    field_text,
    recognise,
    suggested,
    taken_field,
    transposed,
    unseen_questions,
)
from core.rounds.readers.format import Declared, Format, Option
from core.rounds.readers.graded import FIRST, OPTIONS, Ends, Reply, check_complete, ends, grade, paired, undecided
from core.rounds.readers.preference import preference_format
from core.rounds.readers.row_parts import Counts, Row, put
from core.rounds.strict import described
from core.rounds.typing_rows import RawRow

_RATING, _REPLY, _RANKING = "rating.", "reply.", "ranking"
_LABEL, _CHOICE, _NEITHER = "label", "choice.", "neither."
_TIE, _NO_ANSWER = "tie", "no_answer"
_BOTH: Final = ("better", "worse")
_MEAN, _MAJORITY = "mean", "majority"
_SUGGESTIONS: Final = "suggestions"
_OPTIONS: Final[Mapping[str, Option]] = {
    "prompt": Option("the field that holds the prompt", required=True),
    **OPTIONS,
    _RANKING: Option("the ranking question that orders the replies"),
    "reply.NAME": Option("the field of a ranked value that is no field's own name, such as reply.response-1=answer_a"),
    "rating.NAME": Option("the rating question of a reply's field, such as rating.response_1=rating_1; at least two"),
    _LABEL: Option("the question whose answer, a label or a number, names the better of two replies"),
    "choice.NAME": Option("the field of the better reply where the label is NAME, such as choice.response-1 better=answer_a"),
    "neither.NAME": Option("what the label NAME says that chooses no reply: that they are equal, or nothing", (_TIE, _NO_ANSWER)),
    "status": STATUS_OPTION,
    "reducer": Option("how the answers of users who differ become one: mean (of ratings, or of ranks), or the pair that more than half chose",
                      (_MEAN, _MAJORITY)),
    "answers": Option("the suggestions decide, not the users", (_SUGGESTIONS,)),
}


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one file's options say. ``kind``: the option that declares the question; ``fields``: the field of each reply; ``questions``: the rating
    question of each, or the one question; ``named``: ranked value or label -> field."""

    kind: str
    fields: tuple[str, ...]
    questions: tuple[str, ...]
    named: Mapping[str, str]
    neither: Mapping[str, str]


def _plan(options: Mapping[str, str]) -> _Plan:
    ratings, labels = _family(options, _RATING), _family(options, _CHOICE)
    if ratings:
        return _Plan(_RATING, tuple(ratings), tuple(ratings.values()), {}, {})
    if _LABEL in options:
        return _Plan(_LABEL, tuple(sorted(set(labels.values()))), (options[_LABEL],), labels, _family(options, _NEITHER))
    ranked = _family(options, _REPLY)
    return _Plan(_RANKING, tuple(ranked.values()), (options[_RANKING],), ranked, {})


def _family(options: Mapping[str, str], family: str) -> dict[str, str]:
    """The options of a family without its name; in order: "the first of equal ones" must not hang on how the options were ordered."""
    return {name.removeprefix(family): value for name, value in sorted(options.items()) if name.startswith(family)}


def _shape(row: Row, options: Mapping[str, str], counts: Counts) -> Row:
    plan = _plan(options)
    by_rater = [_answered(row, question, options, counts) for question in plan.questions]
    if plan.kind == _RANKING:
        plan, grades = _rankings(plan, by_rater[0], counts)
    else:
        grades = _labels(plan, by_rater[0], counts) if plan.kind == _LABEL else _ratings(plan, by_rater)
    shown = plan.questions if plan.kind == _RATING else plan.questions * len(plan.fields)
    replies = [Reply(field_text(row, field), field, question) for field, question in zip(plan.fields, shown, strict=True)]
    if not grades:
        got = "no suggestion" if "answers" in options else "no submitted answer"
        raise CellFault(plan.questions[0], "missing_score", "an answer that decides between the replies", got)
    complete = _complete(grades, replies, options, counts)
    found, scores = _decided(plan, complete, options, counts)
    row = _without(row, options["prompt"], plan, found)
    if scores is not None:
        row = put(row, chosen_score=float(scores[0]), rejected_score=float(scores[-1]))
    return paired(row, row.pop("prompt"), replies, found)


def _complete(
    grades: Sequence[Sequence[Fraction | None]], replies: Sequence[Reply], options: Mapping[str, str], counts: Counts,
) -> list[list[Fraction | None]]:
    """The grades of each rater that can be in a pair; a row is counted once, however many raters it has."""
    said: Counts = Counter()
    complete = [check_complete(found, replies, options, said) for found in grades]
    counts.update(dict.fromkeys(said, 1))
    return complete


def _without(row: Row, prompt: str, plan: _Plan, found: Ends) -> Row:
    """The row with its prompt under our name, the two replies taken out of its fields, and the names of those fields kept."""
    row = row | {"fields": dict(row["fields"])} if isinstance(row.get("fields"), dict) else row
    value = taken_field(row, prompt)
    names = [plan.fields[index] for index in found]
    for name in names:
        taken_field(row, name)
    if row.get("fields") == {}:
        del row["fields"]
    return put(row, prompt=value, chosen_field=names[0], rejected_field=names[-1])


def _answered(row: Row, question: str, options: Mapping[str, str], counts: Counts) -> list[Answer]:
    return suggested(row, question) if "answers" in options else answers(row, question, options, counts)


def _ratings(plan: _Plan, by_question: Sequence[Sequence[Answer]]) -> list[list[Fraction | None]]:
    """One list of grades for each rater, a grade for each reply."""
    raters = list(dict.fromkeys(answer.rater for found in by_question for answer in found))
    if None in raters and any(len(found) > 1 for found in by_question):
        raise CellFault(plan.questions[0], "missing_field", "the user of each answer, where there are several", "null")
    graded = [
        {answer.rater: grade(answer.value, question) for answer in found} for found, question in zip(by_question, plan.questions, strict=True)
    ]
    return [[found.get(rater) for found in graded] for rater in raters]


def _rankings(plan: _Plan, found: Sequence[Answer], counts: Counts) -> tuple[_Plan, list[list[Fraction | None]]]:
    """The plan with its replies, and one list of grades for each rater: the rank below zero, so that the first is the highest."""
    question = plan.questions[0]
    ranks = [_ranks(answer.value, question, counts) for answer in found]
    names = {name: plan.named.get(name, name) for rank in ranks for name in rank}
    unknown = next((name for name in names if plan.named and name not in plan.named), None)
    if unknown is not None:
        raise CellFault(question, "unknown_value", f"one of {', '.join(plan.named)}", described(unknown))
    order = list(plan.named) or sorted(names)
    plan = replace(plan, fields=tuple(names.get(name) or plan.named[name] for name in order))
    return plan, [[None if (rank := ranked.get(name)) is None else -rank for name in order] for ranked in ranks]


def _labels(plan: _Plan, found: Sequence[Answer], counts: Counts) -> list[list[Fraction | None]]:
    """One list of grades for each rater: 1 for the reply that the label chose and 0 for the other, a half for each of a tie."""
    (question,) = plan.questions
    graded: list[list[Fraction | None]] = []
    for answer in found:
        # a rating question over two replies is answered by a number
        label = str(answer.value) if type(answer.value) is int else answer.value
        if not isinstance(label, str):
            raise CellFault(question, "wrong_type", "one label, or a number", described(label))
        if label not in plan.named and label not in plan.neither:
            known = ", ".join([*plan.named, *plan.neither])
            raise CellFault(question, "unknown_value", f"one of the declared labels {known}; declare {_CHOICE}LABEL=FIELD or {_NEITHER}LABEL={_TIE}",
                            described(label))
        if plan.neither.get(label) == _NO_ANSWER:
            counts["no_choice", f"answers to {question} are {described(label)}, declared to be no answer, and do not count"] += 1
        elif label in plan.neither:
            graded.append([Fraction(1, len(plan.fields)) for _ in plan.fields])
        else:
            graded.append([Fraction(int(field == plan.named[label])) for field in plan.fields])
    return graded


def _ranks(value: Any, question: str, counts: Counts) -> dict[str, Fraction | None]:
    """Ranked value -> its rank, 1 for the best. Argilla 2 hands out the values in their order and leaves the ranks out."""
    items = transposed(value, question) if isinstance(value, dict) else value
    if not isinstance(items, list) or not items:
        raise CellFault(question, "wrong_type", "a ranking: values with their ranks, or values in their order", described(value))
    if all(isinstance(item, str) for item in items):
        counts["ranks_by_order", f"answers to {question} are values without ranks; their order was taken, so equal ranks cannot be seen"] += 1
        items = [{"value": item, "rank": number} for number, item in enumerate(items, start=1)]
    ranks: dict[str, Fraction | None] = {}
    for item in items:
        name, rank = (item.get("value"), item.get("rank")) if isinstance(item, dict) else (None, None)
        if not isinstance(name, str) or not name or name in ranks:
            raise CellFault(question, "wrong_type", "each ranked value once, as text", described(item))
        ranks[name] = grade(rank, question)
    return ranks


def _decided(
    plan: _Plan, grades: Sequence[Sequence[Fraction | None]], options: Mapping[str, str], counts: Counts,
) -> tuple[Ends, tuple[Fraction, Fraction] | None]:
    """The replies that become the pair, and their ratings where they have one each: what all raters gave, or the declared mean."""
    first, reducer, question = options.get("ties") == FIRST, options.get("reducer"), plan.questions[0]
    mean = _mean(grades)
    shown = [None if value is None else -value for value in mean] if plan.kind == _RANKING else mean
    if reducer == _MEAN or len(grades) == 1:
        found = ends(mean, first=first)
        if found is None:
            raise undecided(question, shown)
    else:
        found = _agreed([ends(one, first=first) for one in grades], reducer, question, shown, counts)
    if plan.kind != _RATING or not (reducer == _MEAN or all(list(one) == list(grades[0]) for one in grades)):
        return found, None
    best, worst = (mean[index] for index in found)
    return found, None if best is None or worst is None else (best, worst)


def _mean(grades: Sequence[Sequence[Fraction | None]]) -> list[Fraction | None]:
    """Of each reply the mean over the raters that graded it."""
    given = [[value for value in column if value is not None] for column in zip(*grades, strict=True)]
    return [sum(column, Fraction(0)) / len(column) if column else None for column in given]


def _agreed(chosen: Sequence[Ends | None], reducer: str | None, question: str, shown: Sequence[Fraction | None], counts: Counts) -> Ends:
    """The pair that all raters chose, or more than half of them where that was declared."""
    votes = Counter(chosen)
    winner, count = votes.most_common(1)[0]
    if winner is not None and count == len(chosen):
        return winner
    if set(votes) == {None}:
        raise undecided(question, shown)
    if reducer == _MAJORITY and winner is not None and count > len(chosen) - count:
        counts["raters_reduced", "rows have users who differ; the pair that more than half chose was taken, as declared"] += 1
        return winner
    raise CellFault(question, "raters_disagree", f"one pair that all users chose; or declare reducer={_MEAN} or {_MAJORITY}",
                    f"{len(votes)} different choices of {len(chosen)} users")


def _recognise(rows: Sequence[Any], path: Path) -> str | None:
    return recognise(rows)


def _checked(chosen: Format) -> Format:
    """The format, with the options checked that only make sense together."""
    def rows(declared: Declared) -> Iterator[RawRow]:
        _check_options(declared)
        declared.notes.extend(unseen_questions(declared, _plan(declared.options).questions))
        return chosen.rows(declared)

    return replace(chosen, rows=rows)


def _check_options(declared: Declared) -> None:
    options = declared.options
    ratings, labels, neither = (_family(options, family) for family in (_RATING, _CHOICE, _NEITHER))
    asked = [*([_RATING] if ratings else []), *(name for name in (_RANKING, _LABEL) if name in options)]
    if len(asked) != 1 or len(ratings) == 1:
        _refuse(declared, "missing_option", "one ranking question, one label question, or a rating question for each of at least two replies",
                f"{len(ratings)} rating questions, and {' and '.join(asked) or 'none of the others'}",
                f"declare {_RANKING}=QUESTION, {_LABEL}=QUESTION, or {_RATING}FIELD=QUESTION for each reply")
    if (labels or neither or asked == [_LABEL]) and (asked != [_LABEL] or len(set(labels.values())) != len(_BOTH)):
        _refuse(declared, "missing_option", "a label question, and labels that choose either of two replies",
                f"{asked[0]} and labels for {' and '.join(sorted(set(labels.values()))) or 'no reply'}",
                f"declare {_LABEL}=QUESTION, and {_CHOICE}LABEL=FIELD for each label that chooses a reply")
    plan = _plan(options)
    if labels.keys() & neither.keys() or (asked != [_LABEL] and len(set(plan.fields)) < len(plan.fields)) or (
        ratings and len(set(plan.questions)) < len(plan.questions)
    ):
        _refuse(declared, "said_twice", "another field, and another rating question, for each reply; each label once", "one named twice",
                f"correct the options {_RATING}FIELD, {_REPLY}VALUE or {_CHOICE}LABEL")


def _refuse(declared: Declared, code: str, expected: str, got: str, remedy: str) -> NoReturn:
    raise RoundError(code, expected=expected, got=got, remedy=remedy, where=Where(declared.file))


FORMATS: Final = (
    _checked(preference_format("argilla-records", "Argilla's records: pairs by the answers to a ranking, label or rating question",
                               _shape, _recognise, _OPTIONS)),
)
