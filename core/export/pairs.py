"""The admitted pairs of a round as the trainer's shapes read them: texts and messages as they were ingested, nothing else."""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from core.canonical import parse_canonical
from core.errors import DigestMismatch, ExportError, Where
from core.gates.curation import ADMITTED_FILE
from core.rounds.folder import Round
from core.settings import SETTINGS

Message = dict[str, Any]
Content = str | list[Message]
"""A text, or a list of messages."""

_WHOLE: Final[int] = SETTINGS["json"]["max_safe_integer"]
_PARALLEL: Final = "parallel_tool_calls"
_FIGURES: Final = ("ref_logp_chosen", "ref_logp_rejected", "chosen_score", "rejected_score")
TOOLS, TEMPLATE = "tools", "chat_template_kwargs"
"""Columns of a row that say how its messages are rendered; a round keeps them among its unknown columns."""
RENDERED: Final = (TOOLS, TEMPLATE, "images", "videos", "audios")
"""All of that kind that are looked for: a shape that has no room for one refuses the pair."""


@dataclass(frozen=True, slots=True)
class ExportPair:
    """One admitted pair. ``rank`` counts from 0 in the signed order; ``chosen`` and ``rejected`` have one form, text or messages.
    ``rendered`` holds those of RENDERED that the row had; ``tools`` is a list of schemas or their JSON text, or None;
    ``parallel_tool_calls`` is what a row of OpenAI's said, for rows of OpenAI's."""

    rank: int
    pair_id: str
    prompt: Content
    chosen: Content
    rejected: Content
    rendered: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, float | None] | None = None
    parallel_tool_calls: bool | None = None

    @property
    def tools(self) -> Any:
        return self.rendered.get(TOOLS)

    @property
    def has_messages(self) -> bool:
        """Whether any side was given as messages."""
        return not (isinstance(self.prompt, str) and isinstance(self.chosen, str))


def admitted_ranks(admitted: bytes) -> dict[str, int]:
    """Pair id -> place in the signed list of admitted pairs. Raises DigestMismatch for a list that names a pair twice, ExportError
    ``no_pairs`` for an empty one: a dataset without rows trains nothing."""
    names = [row["pair_id"] for row in parse_canonical(admitted, where=Where(ADMITTED_FILE))]
    ranks = {name: rank for rank, name in enumerate(names)}
    if len(ranks) != len(names):
        raise DigestMismatch("pair_named_twice", expected="each admitted pair once", got="one twice", remedy="verify the decision",
                             where=Where(ADMITTED_FILE))
    if not ranks:
        raise ExportError("no_pairs", expected="at least one admitted pair", got="none", remedy="nothing to export: curate another round")
    return ranks


def admitted_pairs(source: Round, ranks: Mapping[str, int]) -> Iterator[ExportPair]:
    """The pairs of ``ranks`` in the order of the round's rows, streamed. Raises DigestMismatch where the round lacks one."""
    found = 0
    for narrow, text in source.pair_batches():
        names = narrow.column("pair_id").to_pylist()
        rows = [row for row, name in enumerate(names) if name in ranks]
        if not rows:
            continue
        numbers = narrow.select(["pair_id", "extra", *_FIGURES]).take(rows).to_pylist()
        for one, other in zip(numbers, text.take(rows).to_pylist(), strict=True):
            found += 1
            yield _pair(ranks[one["pair_id"]], one, other)
    if found != len(ranks):
        raise DigestMismatch("pair_missing", expected=f"the {len(ranks)} pairs that the list of admitted pairs names", got=f"{found} of them",
                             remedy="restore the round as it was published", where=Where(source.manifest.round_id))


def _pair(rank: int, numbers: Mapping[str, Any], texts: Mapping[str, Any]) -> ExportPair:
    sides = {name: _content(texts[name], texts[f"{name}_messages"]) for name in ("prompt", "chosen", "rejected")}
    extra = {} if numbers["extra"] is None else _parsed(numbers["extra"])
    # no tools, no images and no arguments of a template render nothing, and some formats' columns have to be there
    rendered = {name: extra[name] for name in RENDERED if extra.get(name)}
    figures = {name: numbers[name] for name in _FIGURES}
    # OpenAI's rows have it in their input, what is not messages or tools of which a round keeps under that name
    given = extra.get("input")
    parallel = given.get(_PARALLEL) if isinstance(given, dict) else None
    return ExportPair(
        rank, numbers["pair_id"], **sides, rendered=rendered, figures=figures, parallel_tool_calls=parallel if isinstance(parallel, bool) else None,
    )


def _content(text: str, messages: str | None) -> Content:
    # the messages were checked when they came in, and stored as RFC 8785 bytes
    return text if messages is None else _parsed(messages)


def _parsed(text: str) -> Any:
    return json.loads(text, parse_int=_number)


def _number(digits: str) -> int | float:
    """RFC 8785 writes 1e20 as digits alone. No integer of a round is beyond 2^53-1, so such digits are a real number, and stay one:
    a reader that takes them for an integer of 64 bits would refuse the file."""
    value = int(digits)
    return value if abs(value) <= _WHOLE else float(value)
