"""Near-duplicates inside a round: clusters of prompts (or answers) that say almost the same; a report, nothing is rejected for it.

The system turns of a chat are left out: all chats of one product share them, and would be alike for nothing else.
"""
from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import RoundError, Where
from core.gates.kept_report import KeptReport, ReportPlace, check_pairs
from core.grid import Grid
from core.literals import code_digest
from core.pairs.contamination import FIELDS
from core.pairs.grams import Ints
from core.pairs.minhash import BANDS, ROWS, Suspects, candidate_probability, jaccard
from core.pairs.near_duplicates import Clusters, TextSets
from core.pairs.words import words
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.schemas import CLUSTERS
from core.settings import SETTINGS
from core.text import shortened
from core.version import ENGINE_VERSION

REPORT_FILE: Final = "near_duplicates.json"
CLUSTERS_FILE: Final = "clusters.parquet"
_SETTINGS: Final = SETTINGS["near_duplicates"]
KEYS: Final = ("near_duplicate_jaccard", "near_duplicate_shingle_words")
"""The keys of the grid that the report is made under."""
_JACCARD, _SHINGLE = KEYS
_SYSTEM: Final = "system"

Progress = Callable[[str, int, int], None]


class NearDuplicateReport(KeptReport):
    """``document`` is what near_duplicates.json holds; ``clusters_path`` has every text of a cluster (CLUSTERS of core/schemas.py)."""

    @property
    def clusters_path(self) -> Path:
        return self.folder / CLUSTERS_FILE


def near_duplicates_of(
    workspace: Workspace, source: Round, grid: Grid, field: str = "prompt", *, progress: Progress | None = None,
) -> NearDuplicateReport:
    """The stored report of (round, grid, running code, field), computed now where there is none yet.

    ``field``: prompt, chosen or rejected. Raises RoundError where the round has no pairs or no such field, GridError ``grid_key_off``
    for a grid of an earlier schema.
    """
    place = _place(workspace, source, grid, field)
    document = place.kept(lambda scratch: find_near_duplicates(source, grid, field, scratch, progress=progress))
    return NearDuplicateReport(document, place.folder)


def stored_near_duplicates(workspace: Workspace, source: Round, grid: Grid, field: str = "prompt") -> NearDuplicateReport | None:
    """The report where it is stored already, else None; computes nothing. Raises RoundError as :func:`near_duplicates_of` does."""
    place = _place(workspace, source, grid, field)
    document = place.stored()
    return None if document is None else NearDuplicateReport(document, place.folder)


def _place(workspace: Workspace, source: Round, grid: Grid, field: str) -> ReportPlace:
    """Where the report of a field belongs."""
    if field not in FIELDS:
        raise RoundError("unknown_field", expected=", ".join(FIELDS), got=repr(field), remedy="name one of them", where=Where(field="--field"))
    check_pairs(source)
    return ReportPlace.of(workspace, source, grid, "near-duplicates", REPORT_FILE, field=field)


@dataclass(frozen=True, slots=True)
class _Text:
    ordinal: int
    pair_id: str
    text: str


def find_near_duplicates(source: Round, grid: Grid, field: str, destination: Path, *, progress: Progress | None = None) -> dict[str, Any]:
    """Compare the texts of a field, write clusters.parquet to ``destination``, and return the report.

    The texts are read twice, and once more for the examples: first the signatures of all, then the words of those that may have
    a near-duplicate. Memory: 16 bytes a band and text, then about 50 bytes for each word of the second reading (equal texts once), up to the
    words of the settings; suspects beyond are left out and counted.
    """
    n, share = grid.integer(_SHINGLE), grid.fraction(_JACCARD)
    suspects, ordinals, wordless = Suspects(n), list[int](), 0
    for batch in _batches(source, field, "signatures", progress):
        listed = [(one, words(one.text)) for one in batch]
        ordinals += [one.ordinal for one, found in listed if found]
        wordless += sum(not found for _, found in listed)
        suspects.add(found for _, found in listed if found)
    wanted = np.array(ordinals, dtype=np.int64)[suspects.marked()]
    del suspects
    sets, ids = TextSets(n), list[str]()
    for one in _texts(source, field, wanted, "shingles", progress):
        sets.add(words(one.text))
        ids.append(one.pair_id)
    clusters = sets.clusters(share, None if progress is None else lambda done, total: progress("comparisons", done, total))
    groups = _sorted_groups(clusters, ids)
    _write(destination / CLUSTERS_FILE, groups, wanted, ids)
    listed_groups = _listed(source, field, groups[:_SETTINGS["listed"]], wanted, ids, n)
    counts = {"compared": len(ordinals) - sets.left_out, "without_words": wordless, "left_out": sets.left_out}
    return _document(source, grid, field, counts, clusters, groups, listed_groups)


def _batches(source: Round, field: str, what: str, progress: Progress | None) -> Iterator[list[_Text]]:
    done = 0
    for narrow, text in source.pair_batches():
        columns = (narrow["ordinal"], narrow["pair_id"], text[field], text[f"{field}_messages"])
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        yield [_Text(ordinal, pair_id, compared_text(own, messages)) for ordinal, pair_id, own, messages in rows]
        done += narrow.num_rows
        if progress is not None:
            progress(what, done, source.pair_count)


def compared_text(text: str, messages: str | None) -> str:
    """What is compared of one side: the contents of a chat without its system turns, or the text."""
    if messages is None:
        return text
    return "\n".join(turn.get("content") or "" for turn in json.loads(messages) if turn["role"] != _SYSTEM)


def _texts(source: Round, field: str, ordinals: Ints, what: str, progress: Progress | None) -> Iterator[_Text]:
    """The texts of some rows, in the order of their ordinals."""
    if not len(ordinals):
        return
    wanted = set(ordinals.tolist())
    for batch in _batches(source, field, what, progress):
        yield from (one for one in batch if one.ordinal in wanted)


def _sorted_groups(clusters: Clusters, ids: Sequence[str]) -> list[list[int]]:
    """The clusters, the largest first, then by the smallest pair id; members by pair id."""
    groups = [sorted(group.tolist(), key=lambda place: ids[place]) for group in clusters.members()]
    return sorted(groups, key=lambda group: (-len(group), ids[group[0]]))


def _write(path: Path, groups: Sequence[Sequence[int]], ordinals: Ints, ids: Sequence[str]) -> None:
    rows = [(int(ordinals[place]), ids[place], number) for number, group in enumerate(groups) for place in group]
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [()] * len(CLUSTERS)
    table = pa.Table.from_arrays([pa.array(column, kind.type) for column, kind in zip(columns, CLUSTERS, strict=True)], schema=CLUSTERS)
    pq.write_table(table, path, compression=SETTINGS["storage"]["parquet_compression"])


def _listed(
    source: Round, field: str, groups: Sequence[Sequence[int]], ordinals: Ints, ids: Sequence[str], n: int,
) -> list[dict[str, Any]]:
    """The clusters that are listed, each with two of its texts: the first, and the next one that differs from it."""
    members = [place for group in groups for place in group]
    texts = {one.pair_id: one.text for one in _texts(source, field, ordinals[members] if members else np.array([], dtype=np.int64), "examples", None)}
    found = []
    for group in groups:
        names = [ids[place] for place in group]
        other = next((name for name in names[1:] if texts[name] != texts[names[0]]), names[1])
        alike = jaccard(texts[names[0]], texts[other], n)
        found.append({
            "size": len(group), "different_texts": len({texts[name] for name in names}), "pair_ids": names[:_SETTINGS["named"]],
            "example": [{"pair_id": name, "text": shortened(texts[name], _SETTINGS["excerpt_characters"])} for name in (names[0], other)],
            "jaccard": f"{alike.numerator}/{alike.denominator}",
        })
    return found


def _document(
    source: Round, grid: Grid, field: str, texts: Mapping[str, int], clusters: Clusters, groups: Sequence[Sequence[int]],
    listed: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    sizes = sorted(map(len, groups))
    return {
        "schema_version": _SETTINGS["report_version"], "engine_version": ENGINE_VERSION, "code_digest": code_digest(),
        "round_id": source.manifest.round_id, "round_digest": source.digest, "grid_digest": grid.digest, "field": field,
        "rules": {"jaccard": grid.text(_JACCARD), "shingle_words": grid.integer(_SHINGLE)},
        "method": {
            "permutations": BANDS * ROWS, "bands": BANDS, "rows": ROWS, "seed": _SETTINGS["seed"],
            "chance_to_miss_at_the_bound": f"{1 - candidate_probability(grid.fraction(_JACCARD)):.1e}",
        },
        "texts": {**texts, "suspects": len(clusters.root), "in_clusters": sum(sizes), "quarantined": source.quarantined_count},
        "compared_pairs": clusters.compared, "cut": clusters.cut, "clusters": len(groups), "largest": sizes[-1] if sizes else 0,
        "sizes": [{"size": size, "clusters": sizes.count(size)} for size in sorted(set(sizes))],
        "listed": list(listed),
    }
