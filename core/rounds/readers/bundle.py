"""The one-file JSON bundle, with its own field names (``chosen_verified``, ``rejected_tombstone``, ...).

One document: anything in it that cannot be typed refuses it whole, naming the place. Its keys are those of the worked
example; rows of judges and pairs may also have the optional columns of the tables, a holdout item any key.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

from core.canonical import parse_json
from core.errors import RoundError, Where
from core.rounds.columns import JUDGE_COLUMNS, OUTCOME_COLUMNS, PAIR_COLUMNS, SANITY_COLUMNS, Column, RowFault, TypedBatch, names_of
from core.rounds.manifest import HoldoutLock, ReceiptJudges, RoundManifest
from core.rounds.source import RoundSource, ambiguous_number, check_person, holdout_items, without_faults
from core.rounds.strict import Reader, described, document_reader
from core.rounds.typing_rows import RawRow, type_rows

JUDGE_LISTS: Final = {"calibrated": "calibrated_judge_records", "uncalibrated": "uncalibrated_judge_records"}
PAIR_LISTS: Final = {"verified": "verified_candidates", "synthetic": "synthetic_pairs"}
ARM_MAPS: Final = {"baseline": "baseline_outcomes", "candidate": "candidate_outcomes"}
_REQUIRED: Final = (
    *JUDGE_LISTS.values(), *PAIR_LISTS.values(), "holdout_suite", "preregistered_holdout_sha256", *ARM_MAPS.values(), "sanity_outcomes",
    "proposer_id",
)
_KEYS: Final = (*_REQUIRED, "reviewer_id")
_OWN_NAMES: Final = {"chosen": "chosen_verified", "rejected": "rejected_tombstone"}
_TABLE_NAMES: Final = {own: name for name, own in _OWN_NAMES.items()}
_JUDGE_OF_SYNTHETIC: Final = "calibrated"


def read_bundle(data: bytes, file: str, *, round_id: str, created_at: str) -> RoundSource:
    """A bundle's bytes as a round source. ``file`` is shown, never opened. Raises RoundError naming the place."""
    value = parse_json(data, where=Where(file))
    if isinstance(value, list):
        raise RoundError(
            "wrong_type", expected="one JSON object", got=described(value), where=Where(file),
            remedy="hand over a bundle, or name the format if another program wrote these rows (countersign ingest --format)",
        )
    document = document_reader(value, file)
    document.keys(_KEYS, _REQUIRED)
    manifest = _manifest(document, round_id, created_at)
    judges = {judge: _list(document, name) for judge, name in JUDGE_LISTS.items()}
    pairs = {origin: _list(document, name) for origin, name in PAIR_LISTS.items()}
    maps = {name: _flags(document, name, null=name in ARM_MAPS.values()) for name in (*ARM_MAPS.values(), "sanity_outcomes")}
    return RoundSource(
        manifest,
        tables={
            "judge_records": partial(_judge_records, file, judges),
            "pairs": partial(_pairs, file, pairs),
            "outcomes": partial(_outcomes, file, {arm: maps[name] for arm, name in ARM_MAPS.items()}),
            "sanity": partial(_sanity, file, maps["sanity_outcomes"]),
        },
        holdout=_holdout(file, _list(document, "holdout_suite")),
        place=_place,
        rows={part: sum(map(len, lists.values())) for part, lists in (("judge_records", judges), ("pairs", pairs))},
    )


def _manifest(document: Reader, round_id: str, created_at: str) -> RoundManifest:
    proposer = document.text("proposer_id")
    check_person(proposer, Where(document.file, field="proposer_id"))
    reviewer = document.text("reviewer_id") if "reviewer_id" in document.value else None
    if reviewer is not None:
        check_person(reviewer, Where(document.file, field="reviewer_id"))
    return RoundManifest(
        round_id=round_id, form="bundle", proposers=(proposer,), created_at=created_at, reviewer=reviewer,
        holdout_lock=HoldoutLock(document.text("preregistered_holdout_sha256", empty=True)), receipt_judges=ReceiptJudges(*JUDGE_LISTS),
    )


def _list(document: Reader, name: str) -> list[Any]:
    value = document.value[name]
    if not isinstance(value, list):
        document.refuse(name, "wrong_type", "a list", described(value), "write a list")
    return value


def _flags(document: Reader, name: str, *, null: bool) -> dict[str, bool | None]:
    """A map of ids to outcomes, in the order of its ids: the order of keys in JSON means nothing."""
    source = document.object(name)
    for key, value in source.value.items():
        if not key:
            source.refuse('""', "empty_text", "an id that is not empty", '""', "name the item")
        if not (isinstance(value, bool) or (null and value is None)):
            source.refuse(key, "wrong_type", "true, false or null" if null else "true or false", described(value), "correct the value")
    return {key: source.value[key] for key in sorted(source.value)}


def _place(part: str, key: str, file: str, line: int) -> Where:
    name = (JUDGE_LISTS | PAIR_LISTS).get(key, part)
    return Where(file, field=f"{name}[{line - 1}]")


def _judge_records(file: str, lists: dict[str, list[Any]]) -> Iterator[TypedBatch]:
    known = [name for name in names_of(JUDGE_COLUMNS) if name != "judge_id"]
    for judge, rows in lists.items():
        raw = _raw_rows(file, JUDGE_LISTS[judge], rows, known, {"judge_id": judge})
        yield from without_faults(type_rows(file, JUDGE_COLUMNS, raw), partial(_fault_place, file, JUDGE_LISTS[judge]))


def _pairs(file: str, lists: dict[str, list[Any]]) -> Iterator[TypedBatch]:
    known = [_OWN_NAMES.get(name, name) for name in names_of(PAIR_COLUMNS) if name not in ("origin", "judge_id")]
    for origin, rows in lists.items():
        given = {"origin": origin} | ({"judge_id": _JUDGE_OF_SYNTHETIC} if origin == "synthetic" else {})
        raw = _raw_rows(file, PAIR_LISTS[origin], rows, known, given)
        yield from without_faults(type_rows(file, PAIR_COLUMNS, raw), partial(_fault_place, file, PAIR_LISTS[origin]))


def _raw_rows(file: str, name: str, rows: list[Any], known: list[str], given: dict[str, str]) -> Iterator[RawRow]:
    """Rows of one list under the names of the tables, with what the list itself says (``given``) added."""
    for line, row in enumerate(rows, start=1):
        place = f"{name}[{line - 1}]"
        if not isinstance(row, dict):
            raise RoundError("wrong_type", expected="an object", got=described(row), remedy="correct this row", where=Where(file, field=place))
        Reader(row, place, file).keys(known, ())
        yield RawRow(line, {_TABLE_NAMES.get(key, key): value for key, value in row.items()} | given, "")


def _fault_place(file: str, name: str, fault: RowFault) -> Where:
    field, bracket, rest = fault.field.partition("[")
    own = f"{_OWN_NAMES.get(field, field)}{bracket}{rest}" if name in PAIR_LISTS.values() else fault.field
    return Where(file, field=f"{name}[{fault.line - 1}].{own}" if own else f"{name}[{fault.line - 1}]")


def _outcomes(file: str, arms: dict[str, dict[str, bool | None]]) -> Iterator[TypedBatch]:
    rows = ({"id": item, "arm": arm, "passed": passed} for arm, outcomes in arms.items() for item, passed in outcomes.items())
    yield from _mapped(file, OUTCOME_COLUMNS, rows, ARM_MAPS["candidate"])


def _sanity(file: str, outcomes: dict[str, bool | None]) -> Iterator[TypedBatch]:
    yield from _mapped(file, SANITY_COLUMNS, ({"id": item, "passed": passed} for item, passed in outcomes.items()), "sanity_outcomes")


def _mapped(file: str, columns: Sequence[Column], rows: Iterator[dict[str, Any]], name: str) -> Iterator[TypedBatch]:
    """Rows made from a map; what is still to check is the length of ids."""
    def place(fault: RowFault) -> Where:
        return Where(file, field=name)

    yield from without_faults(type_rows(file, columns, (RawRow(line, row, "") for line, row in enumerate(rows, start=1))), place)


def _holdout(file: str, suite: list[Any]) -> list[dict[str, Any]]:
    ambiguous = ambiguous_number(suite, "holdout_suite")
    if ambiguous is not None:
        raise RoundError(
            "ambiguous_number", expected="an integer or a string", got="a number written with a point or an exponent",
            remedy="write the number as an integer, or as a string, before locking: 1.0, 1e0 and 1 hash differently elsewhere",
            where=Where(file, field=ambiguous),
        )

    def place(line: int) -> tuple[Where, str]:
        return Where(file), f"holdout_suite[{line - 1}]"

    return holdout_items((RawRow(line, item, "") for line, item in enumerate(suite, start=1)), place)
