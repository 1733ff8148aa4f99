"""Inspect logs: ``.eval`` (a zip file of JSON) and ``.json``. One outcome a sample, that is an (id, epoch); an epoch is a run.

Only a log whose status is ``success`` is read, and only with every sample that it speaks of (``inspect_counts``). A sample that was not
scored (a literal NaN, no score, an error) or was invalidated keeps its row without a verdict, so that the gates see what is missing. The
values ``P`` and ``N`` (partial, no answer) need a rule (option ``pass``); without one they are refused.
Structure: inspect_ai.log of UKGovernmentBEIS/inspect_ai, log format version 2.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from core.errors import RoundError, Where
from core.rounds.columns import CellFault
from core.rounds.note import Note, named, warning
from core.rounds.readers.archive import Archive, opened_archive
from core.rounds.readers.contents import name_parts
from core.rounds.readers.epochs import REDUCERS, named_reducer, reduced
from core.rounds.readers.format import Declared, Format, Option
from core.rounds.readers.inspect_counts import Held
from core.rounds.readers.inspect_json import parse_log
from core.rounds.readers.outcome_rows import OPTIONS, PART, Outcomes, digest_of, mapped
from core.rounds.readers.packed import opened, read_whole
from core.rounds.readers.places import IdPlace
from core.rounds.readers.verdicts import VerdictRule
from core.rounds.strict import described, nearest
from core.rounds.typing_rows import RawRow
from core.settings import SETTINGS

NAME: Final = "inspect"
_ARCHIVE, _DOCUMENT = ".eval", ".json"
_HEADER: Final = "header.json"
_START: Final = "_journal/start.json"
_SAMPLE: Final = re.compile(r"samples/.+_epoch_\d+(?:\.json|/sample\.json)", re.DOTALL)
"""A sample is one member, or (a large one) a folder of members of which ``sample.json`` holds what is read here."""
_ATTACHED: Final = "attachment://"
_VERSION: Final[int] = SETTINGS["inspect"]["log_version"]
_ID: Final = "id"
_SUCCESS: Final = "success"
_LETTERS: Final[Mapping[str, bool | None]] = {"C": True, "I": False, "P": None, "N": None}
"""Inspect's values: correct, incorrect, partial, no answer."""
_HEAD: Final = re.compile(r'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:\s*\{')


class _Log:
    """Reads the samples of one log."""

    def __init__(self, declared: Declared, header: Any) -> None:
        self._declared = declared
        self._scorer: str | None = declared.options.get("scorer")
        self._outcomes: Outcomes | None = None
        self._named: dict[str, list[str]] = {"sample_error": [], "invalidated_sample": [], "edited_score": [], "no_score": []}
        self._limits: Counter[str] = Counter()
        self._header = self._checked(header)
        self._held = Held(self._header, declared.file)

    def outcome(self, sample: dict[str, Any]) -> dict[str, Any]:
        """One sample as an outcome. Raises CellFault."""
        epoch = sample.get("epoch")
        if type(epoch) is not int:
            raise CellFault("epoch", "wrong_type" if "epoch" in sample else "missing_field", "an integer", described(epoch))
        score = self._score(sample)
        value = self._value(sample, score)
        limit = _object(sample, "limit").get("type")
        if isinstance(limit, str):
            self._limits[limit] += 1
        kept = {"limit": limit if isinstance(limit, str) else None} | _asked(sample)
        found = self._of_file().outcome(sample, value, run=epoch, response=_response(sample), extra=kept)
        self._held.add(sample[_ID], epoch)
        return found

    def finish(self) -> None:
        """Check the log as a whole and add its notes."""
        notes, file = self._declared.notes, self._declared.file
        if not self._held.samples:
            self._refuse("no_rows", "samples", "none", "hand over a log written with its samples (log_samples)")
        notes += self._held.check()
        self._of_file().finish()
        texts = {
            "sample_error": "samples ended with an error and have no verdict", "invalidated_sample": "samples were invalidated and have no verdict",
            "no_score": "samples have no score and so no verdict", "edited_score": "scores were edited after scoring, which Inspect does not sign",
        }
        notes += [warning(code, f"{file}: {len(names)} {texts[code]}: {named(names)}") for code, names in self._named.items() if names]
        if self._header.get("invalidated") is True and not self._named["invalidated_sample"]:
            self._refuse("invalidated_log", "a log that holds its invalidated samples, or is not marked as invalidated",
                         "one that is marked as invalidated, and none of whose samples is", "hand over the whole log as Inspect wrote it")
        if self._limits:
            each = ", ".join(f"{kind} {count}" for kind, count in sorted(self._limits.items()))
            notes.append(Note("sample_limits", f"{file}: samples that ended at a limit, scored as they stood: {each}"))

    def _of_file(self) -> Outcomes:
        if self._outcomes is None:
            rule = VerdictRule(self._declared, f"scores.{self._scorer or ''}.value", _LETTERS)
            self._outcomes = Outcomes(self._declared, IdPlace(_ID, NAME), rule, "samples (an item in an epoch)")
        return self._outcomes

    def _checked(self, header: Any) -> Mapping[str, Any]:
        if not isinstance(header, dict) or not isinstance(header.get("eval"), dict):
            self._refuse("not_an_inspect_log", "a log with version, status and eval", described(header), "hand over a log that Inspect wrote")
        if header.get("version") != _VERSION:
            self._refuse("unknown_log_version", f"log format version {_VERSION}", described(header.get("version")),
                         "convert the log with a current Inspect (inspect log convert)")
        if header.get("status") != _SUCCESS:
            self._refuse("log_not_finished", f"a log whose status is {_SUCCESS}", described(header.get("status", "started")),
                         "finish the evaluation (inspect eval-retry), then hand over its log")
        if not isinstance(header.get("results"), (dict, type(None))):
            self._refuse("wrong_type", "an object under results", described(header["results"]), "hand over a log that Inspect wrote")
        return header

    def _score(self, sample: dict[str, Any]) -> Mapping[str, Any]:
        """The score of the chosen scorer; empty where the sample has none. Fixes the scorer at the first sample that has scores."""
        scores = _object(sample, "scores")
        if self._scorer is None and scores:
            if len(scores) > 1:
                raise CellFault("scores", "missing_option", "one scorer, declared (--option scorer=NAME)", f"the scorers {', '.join(scores)}")
            self._scorer = next(iter(scores))
        if scores and self._scorer not in scores:
            near = nearest(self._scorer or "", list(scores))
            got = f"the scorers {', '.join(scores)}" + (f"; did you mean {near!r}?" if near else "")
            raise CellFault(f"scores.{self._scorer}", "missing_field", "the scorer that was declared", got)
        return _object(scores, self._scorer) if scores and self._scorer is not None else {}

    def _value(self, sample: dict[str, Any], score: Mapping[str, Any]) -> Any:
        """What the scorer wrote, or None where the sample has no verdict; why is remembered."""
        name = f"{sample.get('id')} (epoch {sample.get('epoch')})"
        if score.get("history"):
            self._named["edited_score"].append(name)
        if sample.get("invalidation") is not None:
            self._named["invalidated_sample"].append(name)
            return None
        if sample.get("error") is not None:
            self._named["sample_error"].append(name)
            return None
        value = score.get("value")
        part = self._declared.options.get("value")
        if part is not None and isinstance(value, dict):
            if part not in value:
                raise CellFault(f"scores.{self._scorer}.value.{part}", "missing_field", "the part of the value that was declared", described(value))
            value = value[part]
        if value is None:
            self._named["no_score"].append(name)
        return value

    def _refuse(self, code: str, expected: str, got: str, remedy: str) -> NoReturn:
        raise RoundError(code, expected=expected, got=got, remedy=remedy, where=Where(self._declared.file))


def _object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object under a key; an empty one where the key is absent or null. Raises CellFault."""
    found = value.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise CellFault(key, "wrong_type", "an object", described(found))
    return found


def _asked(sample: Mapping[str, Any]) -> dict[str, str]:
    """Digests of the input and of the target. Of messages their roles and contents count: their ids are other ones in every run."""
    asked = sample.get("input")
    if isinstance(asked, list):
        asked = [{key: one.get(key) for key in ("role", "content")} if isinstance(one, dict) else one for one in asked]
    return digest_of("prompt_hash", asked) | digest_of("target_hash", sample.get("target"))


def _response(sample: dict[str, Any]) -> str | None:
    """What the model answered: the completion, as Inspect gives it. One that was put elsewhere is looked up in the sample."""
    completion = _object(sample, "output").get("completion")
    if isinstance(completion, str) and completion.startswith(_ATTACHED):
        completion = _object(sample, "attachments").get(completion.removeprefix(_ATTACHED))
    return completion if isinstance(completion, str) else None


def rows(declared: Declared) -> Iterator[RawRow]:
    """The outcomes of a log, one for each sample, or one for each id where a reducer is declared."""
    reducer = named_reducer(declared)
    found = _archived(declared) if name_parts(declared.path.name).suffix == _ARCHIVE else _document(declared)
    return found if reducer is None else reduced(found, reducer, declared)


def _archived(declared: Declared) -> Iterator[RawRow]:
    with opened_archive(declared.path, declared.file) as archive:
        log = _Log(declared, _header(archive, declared.file))
        yield from mapped(_samples(archive, declared.file), log.outcome, log.finish)


def _header(archive: Archive, file: str) -> Any:
    name = _HEADER if _HEADER in archive.names else _START
    if name not in archive.names:
        raise RoundError(
            "not_an_inspect_log", expected=f"a zip file with {_HEADER}", got="one without", remedy="hand over a log that Inspect wrote",
            where=Where(file),
        )
    return parse_log(archive.read(name), Where(f"{file}/{name}"))


def _samples(archive: Archive, file: str) -> Iterator[RawRow]:
    names = [name for name in archive.names if _SAMPLE.fullmatch(name)]
    for number, name in enumerate(names, start=1):
        data = archive.read(name)
        yield RawRow(number, parse_log(data, Where(f"{file}/{name}")), data.decode("utf-8", "replace"))


def _document(declared: Declared) -> Iterator[RawRow]:
    try:
        document = parse_log(read_whole(declared.path, declared.file), Where(declared.file))
    except RoundError as error:
        if error.code != "too_large":
            raise
        raise RoundError(
            error.code, expected=error.expected, got=error.got, where=error.where,
            remedy="convert the log to .eval, which is read sample by sample (inspect log convert)",
        ) from error
    log = _Log(declared, document)
    samples = document.get("samples")
    if samples is not None and not isinstance(samples, list):
        raise RoundError(
            "wrong_type", expected="a list of samples", got=described(samples), remedy="hand over a log that Inspect wrote",
            where=Where(declared.file, field="samples"),
        )
    yield from mapped((RawRow(number, sample, "") for number, sample in enumerate(samples or [], start=1)), log.outcome, log.finish)


def recognise(first_rows: Sequence[Any], path: Path) -> str | None:
    """A file that ends in .eval, or a JSON document that begins as a log does: version, status, eval."""
    suffix = name_parts(path.name).suffix
    if suffix == _ARCHIVE:
        return "its name ends in .eval, as Inspect's logs do"
    if suffix == _DOCUMENT and first_rows and isinstance(first_rows[0], dict) and {"version", "status", "eval"} <= first_rows[0].keys():
        return "it is one JSON document with version, status and eval"
    if suffix != _DOCUMENT:
        return None
    with opened(path, path.name) as handle:
        head = handle.read(SETTINGS["inspect"]["head_bytes"]).decode("utf-8", "replace")
    return "it begins as Inspect's logs do: version, status, eval" if _HEAD.match(head) else None


FORMAT: Final = Format(
    NAME, PART, "Inspect: .eval and .json logs", rows, recognise,
    {
        **OPTIONS, "scorer": Option("the scorer whose value decides; may be left out where samples have one"),
        "value": Option("the part of the value, where the scorer writes several under names"),
        "reducer": Option(f"one verdict from the epochs of an item: {REDUCERS}; without it each epoch stays a run, which the grid's reducer reduces"),
    },
)
