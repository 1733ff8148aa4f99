"""distilabel's rows before they are formatted as pairs: one instruction, several generations, and a rating of each.

What ``GroupColumns`` and ``UltraFeedback`` write (``instruction``, ``generations``, ``ratings``, ``generation_models``), distilabel 0.x
(``input``, ``rating``), and ``ChatGeneration`` (``messages``). Two spellings of one thing in a row are refused until one is declared.
The lists of generations, ratings and models stay in ``extra``, with the places of the two sides in them.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from core.errors import RoundError, Where
from core.rounds.columns import CellFault
from core.rounds.readers.columnar import narrow_lists
from core.rounds.readers.format import Declared, Format, Option
from core.rounds.readers.graded import FIRST, OPTIONS, Reply, check_complete, ends, grade, paired, undecided
from core.rounds.readers.preference import preference_format
from core.rounds.readers.row_parts import Counts, Row, none_has, optional_text, put
from core.rounds.strict import described
from core.rounds.typing_rows import RawRow

_SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "instruction": ("instruction", "prompt", "input", "messages"),
    "generations": ("generations", "responses"),
    "ratings": ("ratings", "rating"),
    "models": ("generation_models", "models", "generation_model"),
}
_SYSTEM: Final = "system_prompt"
_OPTIONS: Final[Mapping[str, Option]] = {
    **OPTIONS,
    "instruction": Option("the key of the instruction, or of the messages before the generations, where a row has several"),
    "generations": Option("the key of the generations, where a row has several"),
    "ratings": Option("the key of the ratings, as ratings_honesty, where a row has several or spells it otherwise"),
    "models": Option("the key of the models that wrote the generations"),
}


def _key(row: Row, name: str, options: Mapping[str, str]) -> str | None:
    """The key that holds one thing in this row. Raises CellFault where two could."""
    if name in options:
        return options[name] if options[name] in row else None
    found = [key for key in _SPELLINGS[name] if key in row]
    if len(found) > 1:
        raise CellFault(found[0], "ambiguous_column", f"one key of the {name}", f"{' and '.join(found)}; declare {name}={found[0]}")
    return found[0] if found else None


def _needed(row: Row, name: str, options: Mapping[str, str]) -> str:
    key = _key(row, name, options)
    if key is None:
        key = options.get(name, _SPELLINGS[name][0])
        raise CellFault(key, "missing_field", f"the {name}", "nothing")
    return key


def _list(row: Row, key: str) -> list[Any]:
    value = row[key]
    if not isinstance(value, list) or not value:
        raise CellFault(key, "wrong_type", "a list that is not empty", described(value))
    return value


def _shape(row: Row, options: Mapping[str, str], counts: Counts) -> Row:
    asked, told, rated = (_needed(row, name, options) for name in ("instruction", "generations", "ratings"))
    models = _key(row, "models", options)
    texts, values = _list(row, told), _list(row, rated)
    if len(texts) != len(values):
        raise CellFault(rated, "lengths_differ", f"{len(texts)} ratings, one for each generation", f"{len(values)}")
    replies = [Reply(text, told, rated) for text in texts]
    grades = check_complete([grade(value, rated) for value in values], replies, options, counts)
    found = ends(grades, first=options.get("ties") == FIRST)
    if found is None:
        raise undecided(rated, grades)
    best, worst = found
    kept = put(row, chosen_score=values[best], rejected_score=values[worst], chosen_index=best, rejected_index=worst)
    if models is not None and isinstance(row[models], list):
        kept = _with_models(kept, row[models], len(texts), found, counts)
    system = optional_text(kept, _SYSTEM)
    return paired(kept, kept.pop(asked), replies, found, system)


def _with_models(row: Row, models: list[Any], replies: int, found: tuple[int, int], counts: Counts) -> Row:
    """The row with the model of each side, where the list has one for each generation; it stays a list otherwise."""
    if len(models) != replies:
        counts["models_not_told", "rows have another number of models than generations; whose the sides are is not told"] += 1
        return row
    return put(row, chosen_model=models[found[0]], rejected_model=models[found[-1]])


def _is_graded(row: Row) -> bool:
    generations = [row[key] for key in _SPELLINGS["generations"] if isinstance(row.get(key), list)]
    ratings = [row[key] for key in _SPELLINGS["ratings"] if isinstance(row.get(key), list)]
    return any(all(item is None or isinstance(item, str) for item in found) for found in generations) and any(
        all(item is None or (isinstance(item, (int, float)) and not isinstance(item, bool)) for item in found) for found in ratings
    )


def _recognise(rows: Sequence[Any], path: Path) -> str | None:
    if not rows or not none_has(rows, "chosen", "rejected") or not all(isinstance(row, dict) and _is_graded(row) for row in rows):
        return None
    if not all(any(key in row for key in _SPELLINGS["instruction"]) for row in rows):
        return None
    return "every row looked at has an instruction, a list of generations and a list of their ratings"


def _checked(chosen: Format) -> Format:
    """The format, refusing ratings that are lists of FLOAT or HALF: 4.1 as a float32 is another number."""
    def rows(declared: Declared) -> Iterator[RawRow]:
        names = (declared.options["ratings"],) if "ratings" in declared.options else _SPELLINGS["ratings"]
        for name in narrow_lists(declared.path, declared.file):
            if name in names:
                raise RoundError(
                    "float_column", expected="a list of DOUBLE or integers", got="a list of FLOAT or HALF", where=Where(declared.file, field=name),
                    remedy="write DOUBLE: a float32 is another number than the one that was measured",
                )
        return chosen.rows(declared)

    return replace(chosen, rows=rows)


FORMATS: Final = (
    _checked(preference_format("distilabel", "distilabel: several generations with their ratings, not yet pairs", _shape, _recognise, _OPTIONS)),
)
