"""Whether both arms were read by the same declaration: a candidate under a kinder filter, scorer or bound than the baseline gains by it."""
from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from core.rounds.declared import Source
from core.rounds.readers.format import COLUMN

_ARMS: Final = ("baseline", "candidate")
_ARM: Final = "arm"
_OF_PLACE: Final = frozenset((_ARM, "id", "prefix", "where", "slice", "cluster", "integer_ids"))
"""Options that say which rows and items are read, not what passes."""
_VERDICT: Final = f"{COLUMN}passed"
_IFEVAL: Final = "ifeval"
_RESULTS: Final = re.compile(r"(?:^|[^a-z])(?P<kind>strict|loose)(?:[^a-z]|$)", re.IGNORECASE)
"""IFEval's rows do not say whether they were checked strictly or loosely; the names of its files do."""


def differing_declarations(sources: Iterable[Source]) -> list[str]:
    """What decides a verdict and was declared otherwise for the two arms, in words; empty where nothing was, or one arm has no file."""
    found: dict[str, dict[str, set[str]]] = {arm: {} for arm in _ARMS}
    for source in sources:
        arm = source.options.get(_ARM)
        if arm in found:
            for name, value in _facts(source).items():
                found[arm].setdefault(name, set()).add(value)
    if not all(found.values()):
        return []
    names = sorted({name for facts in found.values() for name in facts})
    return [
        f"{name}: {' against '.join(f'{_shown(found[arm].get(name))} ({arm})' for arm in _ARMS)}"
        for name in names if found[_ARMS[0]].get(name) != found[_ARMS[-1]].get(name)
    ]


def _facts(source: Source) -> dict[str, str]:
    facts = {"format": source.format} | {name: value for name, value in source.options.items() if _decides(name)}
    kind = _RESULTS.search(source.file) if source.format == _IFEVAL else None
    return facts if kind is None else facts | {"results": kind["kind"].lower()}


def _decides(option: str) -> bool:
    return option not in _OF_PLACE and (not option.startswith(COLUMN) or option == _VERDICT)


def _shown(values: set[str] | None) -> str:
    return ", ".join(map(repr, sorted(values))) if values else "not declared"
