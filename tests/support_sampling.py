"""A round whose pairs are all admitted, and a person's sample of it: for tests of review sampling."""
from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support_rounds import folder_of, ingested, pair
from support_signing import Actor, registry_bytes

from core.gates.assessment import Assessment, load_or_assess
from core.grid import Grid, default_grid, grid_from_document
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.sampling import Choice, Population, Review, Sample

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SEED = "00112233445566778899aabbccddeeff"
ANA, BEN = "ana@example.org", "ben@example.org"
COLOURS = ("amber", "blue", "cyan", "dun", "ecru", "fawn", "green", "henna", "ivory", "jade", "khaki", "lilac", "mauve", "navy", "olive", "pink")


def good_rows(count: int, **changes: Any) -> list[dict[str, Any]]:
    """Pairs that differ from each other and pass every check of curation."""
    return [
        pair(
            pair_id=f"p{number:03d}", prompt=f"Name a colour for wall {number}.", chosen=f"Take {COLOURS[number % 16]} for wall {number}.",
            rejected=f"Wall {number} wants nothing.", **changes,
        )
        for number in range(count)
    ]


def changed_grid(name: str, **values: str) -> Grid:
    """The default grid with some values changed."""
    document = json.loads(default_grid().canonical)
    for key, value in values.items():
        document["keys"][key]["value"] = value
    return grid_from_document(document | {"name": name, "author": "test", "reason": "test"})


@dataclass
class Room:
    """A workspace with one assessed round."""

    workspace: Workspace
    source: Round
    assessment: Assessment
    grid: Grid

    @property
    def population(self) -> Population:
        return Population.of(self.assessment)

    def review(self, person: str = ANA) -> Review:
        """As after a restart: nothing is kept but the files."""
        return Review(self.workspace, self.population, self.assessment.grid_digest, person)

    def assessed(self, grid: Grid) -> Room:
        """The same round under another grid."""
        return Room(self.workspace, self.source, load_or_assess(self.workspace, self.source, grid), grid)


def room(place: Path, count: int, rows: list[dict[str, Any]] | None = None) -> Room:
    source, _ = ingested(place, folder_of(place / "input", {"pairs": good_rows(count) if rows is None else rows}))
    workspace = Workspace(place / "workspace")
    assessment = load_or_assess(workspace, source, default_grid())
    made = Room(workspace, source, assessment, default_grid())
    assert rows is not None or made.population.size == count
    return made


def copied(made: Room, place: Path) -> Room:
    """A room of one's own over a copy of the workspace."""
    workspace = Workspace(place / "workspace")
    shutil.copytree(made.workspace.root, workspace.root)
    source = workspace.round(made.source.digest)
    return Room(workspace, source, load_or_assess(workspace, source, made.grid), made.grid)


def persons_room(made: Room, place: Path) -> Room:
    """A room of one's own in which two people are enrolled."""
    own = copied(made, place)
    own.workspace.registry_file.write_bytes(registry_bytes(Actor(ANA, aliases=("ana",)), Actor(BEN)))
    return own


def side_of(sample: Sample, verdict: str) -> Choice:
    """The choice that means ``chosen`` or ``rejected`` for the pair that is next; other choices as they are."""
    if verdict not in ("chosen", "rejected"):
        return verdict  # type: ignore[return-value]
    assert sample.next_pair is not None
    return "first" if sample.first(sample.next_pair) == verdict else "second"


def judged(review: Review, verdicts: list[str]) -> Sample:
    """Judge the next pairs with these verdicts: chosen, rejected, both_bad, tie, skip."""
    sample = review.sample()
    assert sample is not None
    for verdict in verdicts:
        assert sample.next_pair is not None
        sample = review.judge(sample.next_pair, side_of(sample, verdict), NOW)
    return sample
