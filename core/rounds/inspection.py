"""What ``round check`` looks for beyond the digests: columns that no part knows, words of mixed scripts, answers of one template."""
from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from core.pairs.scripts import mixed_script_words
from core.pairs.templates import TemplateCluster, template_clusters
from core.rounds.folder import Round
from core.schemas import ALL_PARTS
from core.settings import SETTINGS

_NAMED: Final[int] = SETTINGS["display"]["page_rows"]


def extra_columns(source: Round) -> dict[str, list[str]]:
    """Part -> the unknown columns that are kept in ``extra``, by name."""
    found: dict[str, list[str]] = {}
    for part in ALL_PARTS:
        if part == "holdout" or not source.has(part):
            continue
        column = (source.narrow(["extra"]) if part == "pairs" else source.table(part, ["extra"]))["extra"]
        names = {name for text in column.drop_null().to_pylist() for name in json.loads(text)}
        if names:
            found[part] = sorted(names)
    return found


@dataclass(frozen=True, slots=True)
class MixedScripts:
    """Prompts with words of mixed scripts: how many there are, and the first of them by pair."""

    count: int
    examples: tuple[tuple[str, tuple[str, ...]], ...]


def mixed_script_prompts(source: Round) -> MixedScripts:
    """The prompts of the pairs that hold a word of mixed scripts."""
    count = 0
    examples: list[tuple[str, tuple[str, ...]]] = []
    for pair_id, words in _mixed(source):
        count += 1
        if len(examples) < _NAMED:
            examples.append((pair_id, tuple(words)))
    return MixedScripts(count, tuple(examples))


def _mixed(source: Round) -> Iterator[tuple[str, list[str]]]:
    for narrow, text in source.pair_batches():
        other = pc.invert(pc.string_is_ascii(text["prompt"]))
        ids: pa.Array = narrow["pair_id"].filter(other)
        for pair_id, prompt in zip(ids.to_pylist(), text["prompt"].filter(other).to_pylist(), strict=True):
            words = mixed_script_words(prompt)
            if words:
                yield pair_id, words


def answer_templates(source: Round, progress: Callable[[int, int], None] | None = None) -> list[TemplateCluster]:
    """Clusters of chosen answers with one template, largest first. Reads every chosen answer; ``progress``: (pairs read, pairs)."""
    def answers() -> Iterator[tuple[str, str]]:
        read = 0
        for narrow, text in source.pair_batches():
            yield from zip(narrow["pair_id"].to_pylist(), text["chosen"].to_pylist(), strict=True)
            read += narrow.num_rows
            if progress is not None:
                progress(read, source.pair_count)

    return template_clusters(answers())
