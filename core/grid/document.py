"""A grid document, checked: which keys it must have, of which kind, and inside which bounds.

Unit, direction and widest bounds of a key belong to the key, not to a version of its value: they are those of the grid
that ships with the engine. A document may narrow the bounds; it can neither widen them nor turn a direction round.
"""
from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NoReturn

from core.errors import GridError, Where
from core.settings import SETTINGS

DEFAULT_GRID_PATH: Final = Path(__file__).parent / "default_grid_spec.json"
EARLIER_GRID_PATHS: Final = tuple(Path(__file__).parent / f"default_grid_spec_{version}.json" for version in ("2", "1"))
"""Default grids of earlier releases, newest first: published, so never edited, and still accepted everywhere."""
DEDUP_KEYS: Final = ("prompt_normalized_sha256", "chosen_structural_skeleton_sha256", "joint_transition_pair_sha256")
"""The structural keys that this code computes, in the order pages show them."""

DECIMAL_KEYS: Final = (
    "dpo_beta", "rpo_nll_alpha", "max_length_ratio", "min_chosen_logp_drift_per_token", "min_dpo_margin", "min_cohens_kappa",
    "min_exact_agreement", "max_false_positive_rate", "min_sanity_retention", "max_regression_rate", "loss_quantum",
)
OPTIONAL_KEYS: Final = ("min_net_holdout_gain", "max_collapsed_share")
"""Decimal keys that may be null: off."""
EVIDENCE_DECIMAL_KEYS: Final = (
    "evidence_confidence", "wanted_power", "wanted_effect", "sample_max_defect_rate", "sample_confidence", "look_alpha", "ladder_step",
)
EVIDENCE_INTEGER_KEYS: Final = ("planned_looks", "max_contaminated_items")
REPORT_DECIMAL_KEYS: Final = ("pair_pass_reward", "min_reward_margin", "contamination_coverage", "near_duplicate_jaccard", "style_correlation")
REPORT_INTEGER_KEYS: Final = ("max_pairs_per_task", "contamination_ngram_words", "near_duplicate_shingle_words")
INTEGER_KEYS: Final = ("structural_dedup_keys", "receipt_decimals", *EVIDENCE_INTEGER_KEYS, *REPORT_INTEGER_KEYS)
NAME_KEYS: Final = ("outcome_run_reducer",)
NAMES_KEYS: Final = ("enforced_dedup_keys",)
_FIRST_KEYS: Final = (*DECIMAL_KEYS, *OPTIONAL_KEYS, "structural_dedup_keys", "receipt_decimals", *NAME_KEYS, *NAMES_KEYS)
_SECOND_KEYS: Final = (*_FIRST_KEYS, *EVIDENCE_DECIMAL_KEYS, *EVIDENCE_INTEGER_KEYS)
KEYS_BY_SCHEMA: Final = (_FIRST_KEYS, _SECOND_KEYS, (*_SECOND_KEYS, *REPORT_DECIMAL_KEYS, *REPORT_INTEGER_KEYS))
"""The keys of each schema version, from 1 on; exactly these must be present. A key that a later version adds is off for a
grid of an earlier one."""
KEYS: Final = KEYS_BY_SCHEMA[-1]
"""All keys of the newest schema version."""

_ENTRY_FIELDS: Final = ("value", "unit", "direction", "bounds", "rationale", "source")
_TOP_FIELDS: Final = ("grid_schema_version", "name", "version", "author", "reason", "keys")
_SCHEMA: Final = "write it as in core/grid/grid.schema.json"
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_RATIO: Final = re.compile(r"[+-]?[0-9]+/0*[1-9][0-9]*")


def parse_decimal(text: str) -> Fraction:
    """A threshold as the exact rational it writes: ``0.75``, ``75e-2`` or ``3/4``. Raises ValueError for anything else,
    NaN, infinity and very long texts included."""
    stripped = text.strip()
    if len(stripped) <= SETTINGS["text"]["label_characters"]:
        if _RATIO.fullmatch(stripped):
            return Fraction(stripped)
        if _DECIMAL.fullmatch(stripped):
            return Fraction(Decimal(stripped))
    raise ValueError(text)


@lru_cache(maxsize=1)
def shipped_keys() -> Mapping[str, Mapping[str, Any]]:
    """The entries of the grid that ships with the engine, as written."""
    keys: dict[str, dict[str, Any]] = json.loads(DEFAULT_GRID_PATH.read_text("utf-8"))["keys"]
    return keys


class DocumentCheck:
    """Checks one document; every refusal is a GridError that names ``file`` and the key."""

    def __init__(self, file: str | None = None) -> None:
        self._file = file

    def refuse(self, code: str, field: str, expected: str, got: str, remedy: str) -> NoReturn:
        raise GridError(code, expected=expected, got=got, remedy=remedy, where=Where(self._file, field=field or None))

    def document(self, document: Any) -> None:
        """Return when the document is a grid of a schema version that this engine knows."""
        self._fields(document, _TOP_FIELDS, "", "field")
        keys = KEYS_BY_SCHEMA[self._schema_version(document["grid_schema_version"]) - 1]
        for field in ("name", "author", "reason"):
            self._text(document[field], field, "write who made this version, and why")
        if self._integer(document["version"], "version") < 1:
            self.refuse("wrong_type", "version", "an integer from 1", repr(document["version"]), "number the version")
        self._fields(document["keys"], keys, "keys", "key")
        for key in keys:
            self._entry(key, document["keys"][key])
        computed = document["keys"]["structural_dedup_keys"]["value"]
        if computed != len(DEDUP_KEYS):
            self.refuse(
                "dedup_key_count", "structural_dedup_keys.value", f"{len(DEDUP_KEYS)}, the number this code computes", str(computed),
                "use a grid and an engine of the same version",
            )

    def _schema_version(self, version: Any) -> int:
        if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= len(KEYS_BY_SCHEMA):
            known = f"a version from 1 to {len(KEYS_BY_SCHEMA)}"
            self.refuse("unknown_grid_schema", "grid_schema_version", known, repr(version), "use an engine that knows this schema")
        return version

    def _fields(self, document: Any, wanted: Sequence[str], place: str, kind: str) -> None:
        if not isinstance(document, dict):
            self.refuse("wrong_type", place, "an object", type(document).__name__, _SCHEMA)
        inside = f"{place}." if place else ""
        for key in document:
            if key not in wanted:
                near = difflib.get_close_matches(key, wanted, n=1)
                hint = f"did you mean {near[0]}" if near else f"known are {', '.join(wanted)}"
                self.refuse(f"unknown_grid_{kind}", f"{inside}{key}", f"a known {kind}", repr(key), hint)
        for key in wanted:
            if key not in document:
                self.refuse(f"missing_grid_{kind}", f"{inside}{key}", f"the {kind} {key}", "nothing", "add it; no default is ever assumed")

    def _entry(self, key: str, entry: Any) -> None:
        self._fields(entry, _ENTRY_FIELDS, f"keys.{key}", "field")
        for field in ("rationale", "source"):
            self._text(entry[field], f"{key}.{field}", "write why this value, and where it comes from")
        for field in ("unit", "direction"):
            if entry[field] != shipped_keys()[key][field]:
                self.refuse(
                    "grid_key_redefined", f"{key}.{field}", repr(shipped_keys()[key][field]), repr(entry[field]),
                    "unit and direction belong to the key: only its value and narrower bounds may change",
                )
        if key in NAME_KEYS or key in NAMES_KEYS:
            self._names(key, entry)
        else:
            self._number(key, entry)

    def _names(self, key: str, entry: Mapping[str, Any]) -> None:
        legal = shipped_keys()[key]["bounds"]
        chosen = [entry["value"]] if key in NAME_KEYS else entry["value"]
        for field, names in (("bounds", entry["bounds"]), ("value", chosen)):
            place = f"{key}.{field}"
            if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
                self.refuse("wrong_type", place, f"one or more different names of {', '.join(legal)}", repr(entry[field]), _SCHEMA)
            for name in names:
                if name not in legal or name not in entry["bounds"]:
                    self.refuse("value_out_of_bounds", place, f"one of {', '.join(legal)}", repr(name), "choose a name the code knows")

    def _number(self, key: str, entry: Mapping[str, Any]) -> None:
        read = self._integer if key in INTEGER_KEYS else self._decimal
        legal_low, legal_high = shipped_keys()[key]["bounds"]
        match entry["bounds"]:
            case [low, high]:
                bottom, top = read(low, f"{key}.bounds"), read(high, f"{key}.bounds")
            case other:
                self.refuse("wrong_type", f"{key}.bounds", "two bounds, low and high", repr(other), "write [low, high]")
        if not read(legal_low, key) <= bottom <= top <= read(legal_high, key):
            self.refuse(
                "bounds_widened", f"{key}.bounds", f"bounds inside [{legal_low}, {legal_high}]", f"[{low}, {high}]",
                "narrow the bounds, or leave them as they are in the shipped grid",
            )
        if entry["value"] is None and key in OPTIONAL_KEYS:
            return
        if not bottom <= read(entry["value"], f"{key}.value") <= top:
            got = str(entry["value"])
            self.refuse("value_out_of_bounds", f"{key}.value", f"a value from {low} to {high}", got, "choose a value inside the bounds")

    def _text(self, value: Any, place: str, remedy: str) -> None:
        if not isinstance(value, str) or not value.strip():
            self.refuse("wrong_type", place, "text", repr(value), remedy)

    def _integer(self, value: Any, place: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            self.refuse("wrong_type", place, "an integer", repr(value), "write digits without quotes or point")
        return value

    def _decimal(self, value: Any, place: str) -> Fraction:
        if value is None:
            self.refuse("wrong_type", place, "a decimal as a string", "null", f"only {' and '.join(OPTIONAL_KEYS)} may be null (off)")
        if not isinstance(value, str):
            self.refuse("wrong_type", place, "a decimal as a string", repr(value), "put the number in quotes")
        try:
            return parse_decimal(value)
        except ValueError:
            self.refuse("wrong_type", place, "a finite decimal as a string", repr(value), "write digits and a point, as the shipped grid does")
