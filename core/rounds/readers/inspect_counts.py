"""Whether an Inspect log holds all that it speaks of: as many samples as it states, and each item in each epoch.

A sample is one item in one epoch. A log from which samples were taken away still says that it was a success, and items without their failed
epochs look better than they are; so such a log is refused, unless it states that it stopped early.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from core.errors import RoundError, Where
from core.rounds.note import Note, named, warning
from core.rounds.strict import described
from core.settings import SETTINGS

_REMEDY: Final = "finish the evaluation (inspect eval-retry), and hand over the whole log as Inspect wrote it"
_SHOWN: Final[int] = SETTINGS["display"]["named_ids"]
_LIMITS: Final = ("limit", "sample_id")


class Held:
    """The samples that a log holds. ``header`` is the log without its samples."""

    def __init__(self, header: Mapping[str, Any], file: str) -> None:
        self._file = file
        self._results, about = _object(header, "results"), _object(header, "eval")
        self._config, self._dataset = _object(about, "config"), _object(about, "dataset")
        self._of = f"task {described(about.get('task'))}, model {described(about.get('model'))}"
        self._stopped = bool(self._results.get("early_stopping"))
        self._epochs: dict[str, set[int]] = {}

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return sum(map(len, self._epochs.values()))

    def add(self, identifier: Any, epoch: int) -> None:
        """One sample."""
        self._epochs.setdefault(str(identifier), set()).add(epoch)

    def check(self) -> Iterator[Note]:
        """What the log is of, as notes. Raises RoundError: ``incomplete_epochs``, ``sample_count``."""
        epochs = self._stated_epochs()
        yield Note("log_of", f"{self._file}: {self._of}: {self.samples} samples = {len(self._epochs)} items in {epochs} epochs")
        # an epoch is any integer that the log says: nothing is made as long as it
        uneven = {name: found for name, found in self._epochs.items() if len(found) != epochs or min(found) != 1 or max(found) != epochs}
        if uneven and not self._stopped:
            got = named(f"{name} (epoch {', '.join(map(str, sorted(found)[:_SHOWN]))})" for name, found in uneven.items())
            expected = f"each item in each epoch from 1 to {epochs}"
            self._refuse("incomplete_epochs", expected, f"{len(uneven)} of {len(self._epochs)} items with other epochs: {got}", "epoch")
        if uneven:
            yield warning("stopped_early", f"{self._file}: the log stopped early: {len(uneven)} items are not in each of its {epochs} epochs")
        yield from self._counted(epochs)

    def _counted(self, epochs: int) -> Iterator[Note]:
        total = self._results.get("total_samples")
        stated = _count(total)
        if stated is None and total is not None:
            self._refuse("sample_count", "a count of samples", described(total), "results.total_samples")
        limits = {name: self._config[name] for name in _LIMITS if self._config.get(name) is not None}
        ids = self._dataset.get("sample_ids")
        items = len(ids) if isinstance(ids, list) else _count(self._dataset.get("samples"))
        if stated is None and items is not None and not limits:
            stated = items * epochs
        if stated is None:
            yield warning("sample_count_not_stated", f"{self._file}: the log does not say how many samples it should hold")
        elif stated != self.samples and not self._stopped:
            self._refuse("sample_count", f"{stated} samples, as the log states", f"{self.samples}", "samples")
        if limits and items is not None and len(self._epochs) < items:
            by = ", ".join(f"{name}={described(value)}" for name, value in limits.items())
            yield Note("limited_log", f"{self._file}: the evaluation was limited ({by}): {len(self._epochs)} of the {items} items of its dataset")

    def _stated_epochs(self) -> int:
        """The epochs that the log was to have; the last one that it has where it does not say."""
        return _count(self._config.get("epochs")) or max(max(found) for found in self._epochs.values())

    def _refuse(self, code: str, expected: str, got: str, field: str) -> NoReturn:
        raise RoundError(code, expected=expected, got=got, remedy=_REMEDY, where=Where(self._file, field=field))


def _object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None
