"""The one registry of foreign formats, and how a file's format is told from its rows.

A new format is a module with a ``Format`` (or several), and its line here. Detection only ever names: it refuses where no format or
more than one fits, because the wrong one would change text.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from core.errors import RoundError, Where
from core.rounds.note import Note
from core.rounds.readers import (
    argilla_ratings,
    argilla_records,
    axolotl,
    distilabel,
    ifeval,
    inspect_log,
    judgebench,
    lighteval,
    llamafactory,
    lm_eval,
    mapped_csv,
    mapped_rows,
    msswift,
    openai_preference,
    rated,
    rollout_batches,
    trl,
    ultrafeedback,
)
from core.rounds.readers.containers import first_values
from core.rounds.readers.format import Format, Option
from core.rounds.readers.unrecognised import refuse_ambiguous, refuse_unrecognised
from core.rounds.strict import described, nearest, unknown_remedy
from core.settings import SETTINGS

AUTO: Final = "auto"
"""Stands for: tell the format from the file, and say why."""
_CHARACTERS: Final[int] = SETTINGS["formats"]["option_characters"]
_ANY_NAME: Final = ".NAME"
"""The end of an option that stands for a family: ``column.NAME`` is ``column.pair_id``, ``column.task_id``, ..."""

_ALL: Final[tuple[Format, ...]] = (
    *trl.FORMATS, *rated.FORMATS, *distilabel.FORMATS, *ultrafeedback.FORMATS, *argilla_records.FORMATS, *llamafactory.FORMATS,
    *msswift.FORMATS, *axolotl.FORMATS, *openai_preference.FORMATS, *mapped_csv.FORMATS, lm_eval.FORMAT, inspect_log.FORMAT,
    lighteval.FORMAT, ifeval.FORMAT, *mapped_rows.FORMATS, judgebench.FORMAT, argilla_ratings.FORMAT, rollout_batches.FORMAT,
)


def _registry(formats: Iterable[Format]) -> Mapping[str, Format]:
    found: dict[str, Format] = {}
    for item in formats:
        if item.name in found or item.name == AUTO:
            raise AssertionError(f"two formats are named {item.name!r}")
        found[item.name] = item
    return found


FORMATS: Final[Mapping[str, Format]] = _registry(_ALL)
"""Name -> format, in the order in which they are listed."""


def format_named(name: str, where: Where) -> Format:
    """The format of that name. Raises RoundError ``unknown_format``."""
    if name not in FORMATS:
        raise RoundError(
            "unknown_format", expected=f"{AUTO}, or one of {', '.join(FORMATS)}", got=described(name), where=where,
            remedy=f"did you mean {near!r}?" if (near := nearest(name, FORMATS)) else "see countersign ingest --formats",
        )
    return FORMATS[name]


def detect(path: Path, file: str, *, part: str | None = None) -> tuple[Format, str]:
    """The one format that fits a file (among those of ``part``, where one is asked for), and why, as a sentence. A CSV file is read by the
    mapping of its columns, whatever their names look like: another format has to be named.

    Raises RoundError ``unrecognised_format`` where none fits, ``ambiguous_format`` naming those that fit where several do.
    """
    notes: list[Note] = []
    values = first_values(path, file, notes)
    asked = [item for item in FORMATS.values() if part in (None, item.part)]
    fits = [(item, why) for item in asked if (why := item.recognise(values, path)) is not None]
    mapped = [found for found in fits if found[0] in mapped_csv.FORMATS]
    if len(mapped or fits) == 1:
        return (mapped or fits)[0]
    if fits:
        refuse_ambiguous(file, [item for item, _ in fits])
    refuse_unrecognised(path, file, values, notes, asked)


def checked_options(chosen: Format, options: Mapping[str, Any], where: Where) -> dict[str, str]:
    """The options of a declaration, checked against what the format knows. Raises RoundError naming the option."""
    def refuse(name: str, code: str, expected: str, got: str, remedy: str) -> NoReturn:
        raise RoundError(code, expected=expected, got=got, remedy=remedy, where=Where(where.file, field=f"option {name} of {chosen.name}"))

    for name, value in options.items():
        option = _option(chosen, name)
        if option is None:
            known = ", ".join(chosen.options) or "no option"
            refuse(name, "unknown_option", known, repr(name), unknown_remedy(name, chosen.options))
        if not isinstance(value, str) or not 0 < len(value) <= _CHARACTERS:
            refuse(name, "wrong_type", f"text of 1 to {_CHARACTERS} characters", described(value), option.meaning)
        if option.choices and value not in option.choices:
            refuse(name, "unknown_value", f"one of {', '.join(option.choices)}", described(value), option.meaning)
    lacking = [name for name, option in chosen.options.items() if option.required and name not in options]
    if lacking:
        option = chosen.options[lacking[0]]
        choices = f": one of {', '.join(option.choices)}" if option.choices else ""
        declare = " ".join(f"--option {name}={'|'.join(chosen.options[name].choices) or 'VALUE'}" for name in lacking)
        refuse(lacking[0], "missing_option", f"{option.meaning}{choices}", "nothing", f"declare {declare}")
    return dict(options)


def _option(chosen: Format, name: str) -> Option | None:
    family = f"{name.partition('.')[0]}{_ANY_NAME}"
    return chosen.options.get(name) or (chosen.options.get(family) if "." in name else None)
