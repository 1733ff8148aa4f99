"""Columns that hold text for a model: part of the prompt where they were declared, refused where nobody said what they are.

One rule for every format of pairs. A trainer's documentation names the columns that its model sees: ``system``, ``history``, ``images`` and so
on. A format reads the ones that it knows; a column of such a name that is left over, and says something, refuses the file at that row. Which
of the two is true no row tells: LLaMA-Factory shows ``system`` and ``history`` only where ``dataset_info.json`` names them, TRL shows no such
column at all. So the proposer declares it: ``system=NAME`` and ``history=NAME`` put the text into the prompt, ``unread=NAME,NAME`` says that the
trained model is not shown it, and keeps it in ``extra``. Nothing is left out in silence, and nothing is put into a prompt by a column's name alone.

Names: LLaMA-Factory, data/README.md and data/parser.py (``DatasetAttr``); TRL, "Dataset formats"; ms-swift, "Custom dataset"; axolotl, its
DPO prompt strategies; distilabel's ``TextGeneration``; OpenBMB's UltraFeedback (``custom_system_prompt``). ``tools`` and
``chat_template_kwargs`` are columns of their own with every trainer, and are kept and given back as such.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from core.errors import RoundError, Where
from core.rounds.columns import SIDES, CellFault
from core.rounds.readers.format import Option
from core.rounds.readers.row_parts import Row, message
from core.rounds.strict import described

SYSTEM: Final = "system"
HISTORY: Final = "history"
UNREAD: Final = "unread"
VISIBLE: Final = frozenset((
    SYSTEM, "system_prompt", "custom_system_prompt", HISTORY, "prompt", "instruction", "input", "query", "question", "messages", "conversation",
    "conversations", "image", "images", "rejected_images", "video", "videos", "audio", "audios", "objects",
))
"""Names of columns, in lower case, that some trainer or data set documents as text (or pictures) shown to a model."""
_OBJECTS, _LISTS = ("fields", "input"), ("completions",)
"""Columns whose members may be such columns: Argilla's fields and OpenAI's input, and UltraFeedback's list of completions."""
_BETWEEN: Final = ","
_USER, _ASSISTANT = _EXCHANGE = ("user", "assistant")
OPTIONS: Final[Mapping[str, Option]] = {
    SYSTEM: Option("the column of the system text, which becomes a system turn before the prompt; none where left out"),
    HISTORY: Option("the column of earlier turns, pairs of what was asked and answered, which come before the prompt; none where left out"),
    UNREAD: Option("columns with text for a model that are not shown to the trained one, as system,images: kept with the pair, not in its prompt"),
}


def unread_names(options: Mapping[str, str], where: Where) -> frozenset[str]:
    """The columns that were declared as not shown to the trained model. Raises RoundError for a name that is no such column."""
    names = [name.strip() for name in options.get(UNREAD, "").split(_BETWEEN)] if UNREAD in options else []
    for name in names:
        if name.lower() not in VISIBLE:
            raise RoundError(
                "unknown_value", expected=f"names of columns with text for a model: {', '.join(sorted(VISIBLE))}", got=described(name),
                remedy="take it out; any other column is kept in extra and listed without a declaration", where=Where(where.file, field=UNREAD),
            )
    return frozenset(names)


def check_read(row: Mapping[str, Any], declared: frozenset[str], where: Where) -> list[str]:
    """The columns left over with text for a model. ``declared``: those of which the proposer said what they are. Raises RoundError naming the
    others, and the options that say it."""
    found = list(dict.fromkeys(name for name, value in _left_over(row) if _says(value) and not _is_held(value, row)))
    lacking = [name for name in found if name not in declared]
    if lacking:
        raise RoundError(
            "unread_text", expected="text for a model in the prompt of its pair, or declared as not shown to the trained one",
            got=f"text in {' and '.join(map(repr, lacking))} that this format does not read", remedy=_remedy(lacking),
            where=Where(where.file, where.line, lacking[0]),
        )
    return found


def _remedy(names: list[str]) -> str:
    """The options that say of every one of these columns what it is."""
    put = [f"{option}={name}" for name in names if (option := _option_of(name)) is not None]
    rest = [name for name in names if _option_of(name) is None]
    keep = f"{UNREAD}={_BETWEEN.join(names)} where the trained model is not shown it (it stays with the pair, in extra)"
    if not put:
        return f"declare {keep}"
    also = f", with {UNREAD}={_BETWEEN.join(rest)}" if rest else ""
    return f"declare {' and '.join(put)} to put it before the prompt{also}; or {keep}"


def _option_of(name: str) -> str | None:
    """The option that puts a column into the prompt, None where none can."""
    lower = name.lower()
    return HISTORY if lower == HISTORY else SYSTEM if lower in (SYSTEM, "system_prompt") else None


def _left_over(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Columns of such names that are no side of the pair, and such members of the columns that hold columns."""
    for name, value in row.items():
        if name in _OBJECTS and isinstance(value, dict):
            members = [value]
        elif name in _LISTS and isinstance(value, list):
            members = [member for member in value if isinstance(member, dict)]
        else:
            members = [] if name in SIDES else [{name: value}]
        yield from ((inner, found) for member in members for inner, found in member.items() if inner.lower() in VISIBLE)


def _says(value: Any) -> bool:
    """Whether a value says anything: no null, no blank text, nothing that is made of these alone."""
    if isinstance(value, str):
        return bool(value.strip())
    if isinstance(value, (list, dict)):
        return any(map(_says, value.values() if isinstance(value, dict) else value))
    return value is not None


def _is_held(value: Any, row: Mapping[str, Any]) -> bool:
    """Whether the pair says the same already: a text that is its prompt or a message of it, or messages that are its prompt or a side."""
    sides = [row.get(name) for name in SIDES]
    if isinstance(value, str):
        contents = [turn.get("content") for side in sides if isinstance(side, list) for turn in side if isinstance(turn, dict)]
        return value == sides[0] or value in contents
    prompt = sides[0] if isinstance(sides[0], list) else []
    return value in sides or any(isinstance(side, list) and value == [*prompt, *side] for side in sides[1:])


def prepended(row: Row, options: Mapping[str, str], *, own_system_wins: bool) -> tuple[Row, bool]:
    """The row with its declared system text and earlier turns before its prompt, and whether a system turn of its own stood instead.

    Where either is declared every pair becomes messages, so that a file has one form. A conversation with a system turn of its own keeps it:
    the declared column has to say the same, unless the trainer's documentation lets the turn win. Raises CellFault.
    """
    if SYSTEM not in options and HISTORY not in options:
        return row, False
    row, places = _with_places(dict(row))
    own = next((row[name][0].get("content") or "" for name in SIDES if _begins_with_system(row.get(name))), None)
    text = _system_text(row, options)
    differs = own is not None and text not in ("", own)
    if differs and not own_system_wins:
        raise CellFault(options[SYSTEM], "said_twice", "one system text", "another one in the conversation")
    if not differs and SYSTEM in options:
        row.pop(options[SYSTEM], None)
    turns = _turns(row.pop(options[HISTORY], None), options[HISTORY]) if HISTORY in options else []
    head = [message("system", text), *turns] if own is None and text else turns
    for name in places:
        lead = 1 if _begins_with_system(row[name]) else 0
        row[name] = [*row[name][:lead], *head, *row[name][lead:]]
    return row, differs


def _begins_with_system(side: Any) -> bool:
    return isinstance(side, list) and bool(side) and isinstance(side[0], dict) and side[0].get("role") == "system"


def _with_places(row: Row) -> tuple[Row, tuple[str, ...]]:
    """The row with texts as the messages that they are, and the sides that the pair begins with: its prompt, or both answers where they hold
    the conversation (a prompt as text then stays, and names the turn that ends it). Raises CellFault."""
    for name in ("chosen", "rejected"):
        value = row.get(name)
        if not isinstance(value, (str, list)):
            raise CellFault(name, "wrong_type" if name in row else "missing_field", "text, or a list of messages", described(value))
        row[name] = [message(_ASSISTANT, value)] if isinstance(value, str) else value
    prompt = row.get("prompt")
    if prompt is None or (isinstance(prompt, str) and all(_asks(row[name], prompt) for name in ("chosen", "rejected"))):
        return row, ("chosen", "rejected")
    if not isinstance(prompt, (str, list)):
        raise CellFault("prompt", "wrong_type", "text, or a list of messages", described(prompt))
    row["prompt"] = [message(_USER, prompt)] if isinstance(prompt, str) else prompt
    return row, ("prompt",)


def _asks(side: list[Any], prompt: str) -> bool:
    return any(isinstance(turn, dict) and turn.get("role") == _USER and turn.get("content") == prompt for turn in side)


def _system_text(row: Row, options: Mapping[str, str]) -> str:
    value = row.get(options.get(SYSTEM, ""))
    if value is not None and not isinstance(value, str):
        raise CellFault(options[SYSTEM], "wrong_type", "text, or null", described(value))
    return value or ""


def _turns(pairs: Any, name: str) -> list[Row]:
    turns: list[Row] = []
    for pair in [] if pairs is None else pairs if isinstance(pairs, list) else [None]:
        if not isinstance(pair, list) or not all(isinstance(text, str) for text in pair) or len(pair) != len(_EXCHANGE):
            raise CellFault(name, "wrong_type", "a list of pairs of texts: what was asked and what was answered", described(pairs))
        turns += [message(role, text) for role, text in zip(_EXCHANGE, pair, strict=True)]
    return turns
