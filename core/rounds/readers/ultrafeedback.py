"""OpenBMB's UltraFeedback as it was published: one instruction, several completions with their annotations, not yet pairs.

Which figure of a completion is its grade has to be declared (``score``): ``overall_score`` (the critic's), ``fine-grained_score`` (their mean
over the aspects that were rated), the ``Rating`` of one aspect, or ``ratings_mean``, the exact mean of all of them. A Rating is text, and
``N/A`` where the annotator gave none: that is no grade. Pairs are made as of any graded replies (``core.rounds.readers.graded``).

``overall_score`` has a known fault: the first release gave 10 to completions whose critique said 1 (OpenBMB/UltraFeedback issue 8). Its repair
of 2023-12-29 looked at the fine-grained score of every 10: above 4 it stood, from 2 down it became 1, between it was annotated again. A 10
beside a fine-grained score of 4 or less is therefore counted and warned of; it is changed by nobody here.

Fields: OpenBMB/UltraFeedback, README.md, "Dataset Format" and "Update"; the two scores, as the published data set has them.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from core.errors import RoundError, Where
from core.rounds.columns import CellFault
from core.rounds.readers.columnar import narrow_members
from core.rounds.readers.csv_rows import number_in
from core.rounds.readers.format import Declared, Format, Option
from core.rounds.readers.graded import FIRST, OPTIONS, Reply, check_complete, ends, grade, paired, undecided
from core.rounds.readers.preference import preference_format
from core.rounds.readers.row_parts import Counts, Row, all_text, none_has, put
from core.rounds.strict import described
from core.rounds.typing_rows import RawRow
from core.settings import SETTINGS

_COMPLETIONS, _RESPONSE, _ANNOTATIONS, _RATING = "completions", "response", "annotations", "Rating"
_OVERALL, _FINE, _MEAN = "overall_score", "fine-grained_score", "ratings_mean"
_ASPECTS: Final = ("instruction_following", "honesty", "truthfulness", "helpfulness")
_NOT_RATED: Final = "N/A"
_DOUBTFUL: Final[int] = SETTINGS["ultrafeedback"]["doubtful_overall_score"]
_SOUND_ABOVE: Final[int] = SETTINGS["ultrafeedback"]["sound_above_fine_grained"]
_DOUBT: Final = "doubtful_overall_score"
_OPTIONS: Final[Mapping[str, Option]] = {
    "score": Option(
        f"the grade of a completion: its {_OVERALL} (which has a known fault), its {_FINE}, the Rating of one aspect, or the mean of all Ratings",
        (_OVERALL, _FINE, _MEAN, *_ASPECTS), required=True,
    ),
    **OPTIONS,
    "pair": replace(OPTIONS["pair"], meaning=f"{OPTIONS['pair'].meaning}; one drawn at random, as others pair them, is not the same twice"),
}


def _completions(row: Row) -> list[Row]:
    found = row.get(_COMPLETIONS)
    if not isinstance(found, list) or not found or not all(isinstance(item, dict) for item in found):
        raise CellFault(_COMPLETIONS, "wrong_type" if _COMPLETIONS in row else "missing_field", "a list of completions", described(found))
    return found


def _number(value: Any, place: str, counts: Counts) -> Fraction | None:
    """A score or rating, which may be the text of a number; None where there is none. Raises CellFault."""
    if value == _NOT_RATED:
        counts["not_rated", f"grades are {_NOT_RATED} and count as missing"] += 1
        return None
    return grade(number_in(value, place) if isinstance(value, str) else value, place)


def _rating(item: Row, aspect: str, place: str, counts: Counts) -> Fraction | None:
    annotations = item.get(_ANNOTATIONS) or {}
    rated = annotations.get(aspect) if isinstance(annotations, dict) else annotations
    if rated is None:
        return None
    if not isinstance(rated, dict):
        raise CellFault(f"{place}.{_ANNOTATIONS}", "wrong_type", f"an object with a {_RATING} of {aspect}", described(rated))
    return _number(rated.get(_RATING), f"{place}.{_ANNOTATIONS}.{aspect}.{_RATING}", counts)


def _grade(item: Row, score: str, place: str, counts: Counts) -> Fraction | None:
    if score in _ASPECTS:
        return _rating(item, score, place, counts)
    if score != _MEAN:
        return _number(item.get(score), f"{place}.{score}", counts)
    ratings = [rating for aspect in _ASPECTS if (rating := _rating(item, aspect, place, counts)) is not None]
    return sum(ratings, Fraction(0)) / len(ratings) if len(ratings) == len(_ASPECTS) else None


def _is_doubtful(item: Row) -> bool:
    """Whether a completion bears the sign of the known fault."""
    overall, fine = item.get(_OVERALL), item.get(_FINE)
    return overall == _DOUBTFUL and isinstance(fine, (int, float)) and fine <= _SOUND_ABOVE


def _shape(row: Row, options: Mapping[str, str], counts: Counts) -> Row:
    score, items = options["score"], _completions(row)
    places = [f"{_COMPLETIONS}[{number}]" for number in range(len(items))]
    grades = [_grade(item, score, place, counts) for item, place in zip(items, places, strict=True)]
    replies = [Reply(item.get(_RESPONSE), f"{place}.{_RESPONSE}", f"{place}.{score}") for item, place in zip(items, places, strict=True)]
    complete = check_complete(grades, replies, options, counts)
    found = ends(complete, first=options.get("ties") == FIRST)
    if found is None:
        raise undecided(score, complete)
    best, worst = found
    if score == _OVERALL and _is_doubtful(items[best]):
        counts[_DOUBT, f"pairs are chosen for an {_OVERALL} of {_DOUBTFUL} beside a {_FINE} of {_SOUND_ABOVE} or less: the first release gave "
                       f"{_DOUBTFUL} to completions that were rated 1 (OpenBMB/UltraFeedback issue 8); use its repaired data, or another score"] += 1
    shown = [value for value in (complete[best], complete[worst]) if value is not None]
    kept = put(row, chosen_score=float(shown[0]), rejected_score=float(shown[-1]), chosen_index=best, rejected_index=worst)
    models = {f"{side}_model": items[index]["model"] for side, index in (("chosen", best), ("rejected", worst)) if "model" in items[index]}
    kept = put(kept, **models)
    return paired(kept, kept.pop("instruction", None), replies, found)


def _is_raw(rows: Sequence[Any], path: Path) -> str | None:
    if not all_text(rows, "instruction") or not none_has(rows, "chosen", "rejected") or not all(map(_has_completions, rows)):
        return None
    return "every row looked at has an instruction, and completions with a response and its annotations or scores"


def _has_completions(row: Row) -> bool:
    found = row.get(_COMPLETIONS)
    return isinstance(found, list) and bool(found) and all(
        isinstance(item, dict) and _RESPONSE in item and any(key in item for key in (_ANNOTATIONS, _OVERALL, _FINE)) for item in found
    )


def _checked(chosen: Format) -> Format:
    """The format, refusing scores that are FLOAT or HALF: 4.1 as a float32 is another number."""
    def rows(declared: Declared) -> Iterator[RawRow]:
        if declared.options["score"] in narrow_members(declared.path, declared.file):
            raise RoundError(
                "float_column", expected="a DOUBLE or integers", got="FLOAT or HALF", where=Where(declared.file, field=declared.options["score"]),
                remedy="write DOUBLE: a float32 is another number than the one that was measured",
            )
        return chosen.rows(declared)

    return replace(chosen, rows=rows)


FORMATS: Final = (
    _checked(preference_format("ultrafeedback-raw", "UltraFeedback as OpenBMB published it: several completions, not yet pairs", _shape, _is_raw,
                               _OPTIONS, warned=(_DOUBT,))),
)
