"""What ``round check`` looks for beyond the digests: columns that no part knows, words of mixed scripts, texts that are there twice, answers of
one template."""
from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.pairs.scripts import mixed_script_words
from core.pairs.templates import TemplateCluster, template_clusters
from core.pairs.texts import identical_answers
from core.rounds.folder import Round
from core.schemas import ALL_PARTS
from core.settings import SETTINGS

_NAMED: Final[int] = SETTINGS["display"]["page_rows"]
_DIGEST: Final[int] = SETTINGS["text"]["digest_bytes"]


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


@dataclass(frozen=True, slots=True)
class SameTexts:
    """Pairs of which a text is there twice. ``exact``, ``trimmed``: pairs whose two answers are the same as they stand, or once outer white
    space is stripped; ``repeated``: pairs whose prompt is that of a pair before them. Of each the first ids."""

    exact: int
    trimmed: int
    repeated: int
    identical_ids: tuple[str, ...]
    repeated_ids: tuple[str, ...]

    @property
    def identical(self) -> int:
        return self.exact + self.trimmed

    def document(self) -> dict[str, Any]:
        """The counts as JSON members."""
        return {
            "identical": self.identical, "identical_exact": self.exact, "identical_after_trim": self.trimmed,
            "identical_ids": list(self.identical_ids), "repeated_prompts": self.repeated, "repeated_prompt_ids": list(self.repeated_ids),
        }


def same_texts(source: Round, progress: Callable[[int, int], None] | None = None) -> SameTexts:
    """Pairs with two answers alike, and pairs that repeat a prompt, whatever else is wrong with them: curation gives a pair one reason, and an
    identical pair without log-probs is counted under these. Reads every text once; about a hundred bytes of memory a pair. ``progress``: (pairs
    read, pairs)."""
    exact = trimmed = repeated = read = 0
    identical_ids: list[str] = []
    repeated_ids: list[str] = []
    seen: set[bytes] = set()
    for narrow, text in source.pair_batches():
        ids = narrow["pair_id"].to_pylist()
        flags = identical_answers(text["chosen"], text["rejected"], text["chosen_messages"], text["rejected_messages"])
        exact, trimmed = exact + int(flags[0].sum()), trimmed + int(flags[1].sum())
        identical_ids += [ids[place] for place in np.flatnonzero(flags[0] | flags[1])][:_NAMED - len(identical_ids)]
        for place, prompt in enumerate(zip(text["prompt"].to_pylist(), text["prompt_messages"].to_pylist(), strict=True)):
            digest = hashlib.blake2b(repr(prompt).encode("utf-8"), digest_size=_DIGEST).digest()
            if digest in seen:
                repeated += 1
                repeated_ids += ids[place:place + 1] if len(repeated_ids) < _NAMED else []
            seen.add(digest)
        read += narrow.num_rows
        if progress is not None:
            progress(read, source.pair_count)
    return SameTexts(exact, trimmed, repeated, tuple(identical_ids), tuple(repeated_ids))


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
