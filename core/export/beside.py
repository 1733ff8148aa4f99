"""The facts about one export that the files beside the data repeat: gathered once, so that card and Croissant agree."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.export.columns import JSON, Kind, Observed, holds_json
from core.export.lookalikes import Lookalikes
from core.export.provenance import Provenance
from core.export.shape import REFERENCE_LOGPS, Shape
from core.export.turns import AS_REVIEWED

LINES_FILE, PARQUET_FILE = "train.jsonl", "train.parquet"
UNKNOWN_LICENSE: Final = "unknown"


@dataclass(frozen=True)
class Wanted:
    """What the person who exports asked for."""

    shape: Shape
    parquet: bool = False
    turns: str = AS_REVIEWED
    extras: tuple[str, ...] = ()
    license: str = UNKNOWN_LICENSE
    languages: tuple[str, ...] = ()
    title: str | None = None


@dataclass(frozen=True)
class DataFile:
    """A data file as written: name, bytes, SHA-256."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Facts:
    """One export: where it comes from, what was asked for, what was written. ``cut``: pairs whose later turns were left out;
    ``memory``: bytes of the rows as Arrow arrays, which ``datasets`` measures a split in; ``seen``: texts that a reader may mistake."""

    provenance: Provenance
    wanted: Wanted
    observed: Observed
    files: tuple[DataFile, ...]
    cut: int
    memory: int
    seen: Lookalikes

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Columns in their order, with their kinds."""
        return self.observed.ordered(self.wanted.shape.columns)

    @property
    def rows(self) -> int:
        return self.observed.rows

    @property
    def title(self) -> str:
        """What a reader sees first."""
        return self.wanted.title or f"Preference pairs of round {self.provenance.source.manifest.round_id}"

    @property
    def main_file(self) -> DataFile:
        """The file that a reader loads unless told otherwise: Parquet where there is one, since it has types."""
        return self.files[-1]

    def notes(self) -> list[str]:
        """What somebody who loads the data should know, in sentences."""
        shape, observed = self.wanted.shape, self.observed
        said = list(shape.notes)
        if self.cut:
            said.append(f"{self.cut:,} of {self.rows:,} pairs had turns after the one in which their sides part; those turns were left out.")
        if any(holds_json(kind) for kind in self.kinds.values()):
            said.append("Columns of type `json` hold one JSON document an entry, so that no object gains members from others. `datasets` 4.7 or "
                        "later hands them out as objects; elsewhere, read the text with a JSON parser. The JSON Lines file has plain objects.")
            mixed = [name for name, kind in self.kinds.items() if kind == JSON and name in observed.texts]
            if mixed:
                said.append(f"{_names(mixed)} holds texts beside objects or lists. Out of the JSON Lines file `datasets` hands out a text that is "
                            "JSON itself as what it says; out of Parquet it stays a text.")
            if observed.has_reals:
                said.append("`datasets` reads numbers inside JSON columns with a fast parser: out of Parquet they keep 15 digits, out of JSON Lines "
                            "10 decimals. Where more matters, read the JSON Lines file with a JSON parser.")
        said += self._lookalikes()
        if REFERENCE_LOGPS in self.wanted.extras:
            said.append(self._about_logps())
        return said

    def _lookalikes(self) -> Iterator[str]:
        exact = "The Parquet file is exact." if self.wanted.parquet else "Export with --parquet, or read the file with a JSON parser."
        times, numbers = self.seen.times(self.kinds), self.seen.numbers(self.kinds)
        if times:
            yield (f"A stretch of the file, or all of it, has nothing in {_names(times)} but texts that read as times, and `datasets` takes such a "
                   f"stretch of a JSON Lines file for times and changes the text. {exact}")
        if numbers:
            yield (f"Every text in {_names(numbers)} reads as a number. `pandas.read_json`, and mlcroissant with it, takes such a column of a JSON "
                   f"Lines file for numbers and changes the text. {exact}")

    def _about_logps(self) -> str:
        reference = self.provenance.source.manifest.reference
        of = "a reference model that the round does not name" if reference is None else "the reference model named below"
        return (f"`ref_chosen_logps` and `ref_rejected_logps` are sums over the completion's tokens in nats, as the round states them, of {of}. "
                "They hold for that model and its chat template alone, and TRL computes its own when `precompute_ref_log_probs` is set: "
                "drop the two columns then.")


def _names(columns: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in columns)
