"""The grid: what is read exactly, and every document that must be refused, with the key named."""
from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from core.canonical import canonical_bytes, sha256_hex
from core.errors import GridError
from core.grid import DEDUP_KEYS, DEFAULT_GRID_PATH, KEYS, default_grid, grid_from_document, load_grid, parse_decimal, shipped_grids

ORACLES = Path(__file__).parents[1] / "fixtures" / "oracles"
SHIPPED = json.loads(DEFAULT_GRID_PATH.read_text("utf-8"))
FIRST = json.loads((DEFAULT_GRID_PATH.parent / "default_grid_spec_1.json").read_text("utf-8"))
SECOND = json.loads((DEFAULT_GRID_PATH.parent / "default_grid_spec_2.json").read_text("utf-8"))
SCHEMA = json.loads((DEFAULT_GRID_PATH.parent / "grid.schema.json").read_text("utf-8"))


def changed(change: Callable[[dict], Any]) -> dict:
    document = deepcopy(SHIPPED)
    change(document)
    return document


def with_entry(key: str, **fields: Any) -> dict:
    return changed(lambda document: document["keys"][key].update(fields))


def refused(document: Any) -> GridError:
    with pytest.raises(GridError) as caught:
        grid_from_document(document, file="mine.json")
    assert caught.value.exit_code == 4
    assert caught.value.where is not None and caught.value.where.file == "mine.json"
    return caught.value


def test_the_shipped_grid_has_the_values_of_the_specification() -> None:
    grid = default_grid()
    # the table of the specification, section 1
    expected = {
        "dpo_beta": "1/10", "rpo_nll_alpha": "1", "max_length_ratio": "9/5", "min_chosen_logp_drift_per_token": "-1/10", "min_dpo_margin": "0",
        "min_cohens_kappa": "3/4", "min_exact_agreement": "17/20", "max_false_positive_rate": "1/20", "min_sanity_retention": "1",
        "max_regression_rate": "1/20", "loss_quantum": "1/1000000000",
    }
    assert {key: grid.fraction(key) for key in expected} == {key: Fraction(value) for key, value in expected.items()}
    assert [grid.optional_fraction(key) for key in ("min_net_holdout_gain", "max_collapsed_share")] == [None, None]
    assert (grid.integer("structural_dedup_keys"), grid.integer("receipt_decimals")) == (3, 6)
    assert (grid.name_of("outcome_run_reducer"), grid.names("enforced_dedup_keys")) == ("majority", DEDUP_KEYS)
    assert set(grid.keys) == set(KEYS) == set(SHIPPED["keys"])


def test_every_key_says_unit_direction_bounds_rationale_and_source() -> None:
    for key in default_grid().keys.values():
        assert key.unit and key.direction in ("min", "max", "none") and len(key.bounds) >= 2
        assert len(key.rationale) > 20 and key.source


def test_the_digest_is_over_the_canonical_bytes_and_not_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "grid.json"
    path.write_text(json.dumps(SHIPPED, indent=7), "utf-8")
    grid = load_grid(path)
    assert grid.digest == default_grid().digest == sha256_hex(canonical_bytes(SHIPPED))
    assert grid.canonical == canonical_bytes(SHIPPED)
    assert grid_from_document(with_entry("min_cohens_kappa", value="0.8")).digest != grid.digest


def test_a_loaded_grid_is_frozen() -> None:
    grid = default_grid()
    with pytest.raises(AttributeError):
        grid.digest = "0"  # type: ignore[misc]
    with pytest.raises(TypeError):
        grid.keys["dpo_beta"] = grid.keys["rpo_nll_alpha"]  # type: ignore[index]
    with pytest.raises(AttributeError):
        grid.keys["dpo_beta"].value = "9"  # type: ignore[misc]


def test_differences_name_the_keys_whose_value_differs() -> None:
    other = grid_from_document(changed(lambda document: (
        document["keys"]["min_cohens_kappa"].update(value="0.8"), document["keys"]["max_collapsed_share"].update(value="0.2"),
        document["keys"]["dpo_beta"].update(rationale="Another reason for the same value, which changes nothing."),
    )))
    assert other.differences(default_grid()) == [("min_cohens_kappa", "0.8", "0.75"), ("max_collapsed_share", "0.2", "off")]


@pytest.mark.parametrize("key", KEYS)
def test_a_missing_key_is_named(key: str) -> None:
    error = refused(changed(lambda document: document["keys"].pop(key)))
    assert error.code == "missing_grid_key" and error.where is not None and error.where.field == f"keys.{key}"


def test_an_unknown_key_is_named_with_the_nearest_known_one() -> None:
    error = refused(changed(lambda document: document["keys"].update(min_cohen_kappa=document["keys"]["min_cohens_kappa"])))
    assert error.code == "unknown_grid_key" and "min_cohen_kappa" in error.got
    assert "did you mean min_cohens_kappa" in str(error)


@pytest.mark.parametrize(("key", "value"), [
    ("rpo_nll_alpha", "0"), ("rpo_nll_alpha", "-1"), ("dpo_beta", "0"), ("loss_quantum", "0"), ("max_length_ratio", "0.99"),
    ("min_cohens_kappa", "1.01"), ("min_exact_agreement", "-0.1"), ("max_false_positive_rate", "5"), ("max_regression_rate", "1.000000001"),
    ("min_net_holdout_gain", "-2"), ("receipt_decimals", 0), ("receipt_decimals", 13), ("outcome_run_reducer", "median"),
    ("enforced_dedup_keys", ["prompt_normalized_sha256", "first_words"]),
])
def test_a_value_out_of_bounds_is_refused(key: str, value: Any) -> None:
    error = refused(with_entry(key, value=value))
    assert error.code == "value_out_of_bounds" and error.where is not None and error.where.field == f"{key}.value"


@pytest.mark.parametrize(("key", "bounds", "value"), [
    ("rpo_nll_alpha", ["-5", "1000"], "-1"), ("max_false_positive_rate", ["0", "2"], "1.5"), ("receipt_decimals", [0, 99], 50),
    ("structural_dedup_keys", [1, 9], 3), ("max_length_ratio", ["0", "1000"], "0.5"),
])
def test_bounds_widened_in_the_document_do_not_help(key: str, bounds: list, value: Any) -> None:
    error = refused(with_entry(key, bounds=bounds, value=value))
    assert error.code == "bounds_widened" and error.where is not None and error.where.field == f"{key}.bounds"


def test_names_cannot_be_added_to_the_bounds() -> None:
    assert refused(with_entry("outcome_run_reducer", bounds=["majority", "median"], value="median")).code == "value_out_of_bounds"


def test_narrower_bounds_are_kept_and_hold() -> None:
    grid = grid_from_document(with_entry("min_cohens_kappa", bounds=["0.6", "0.9"], value="0.7"))
    assert (grid.fraction("min_cohens_kappa"), grid.keys["min_cohens_kappa"].bounds) == (Fraction(7, 10), ("0.6", "0.9"))
    assert refused(with_entry("min_cohens_kappa", bounds=["0.6", "0.9"], value="0.5")).code == "value_out_of_bounds"


@pytest.mark.parametrize(("key", "fields"), [
    ("max_false_positive_rate", {"direction": "min"}), ("min_cohens_kappa", {"direction": "none"}), ("min_cohens_kappa", {"unit": "percent"}),
])
def test_direction_and_unit_cannot_be_turned_round(key: str, fields: dict) -> None:
    assert refused(with_entry(key, **fields)).code == "grid_key_redefined"


@pytest.mark.parametrize(("key", "value"), [
    ("min_cohens_kappa", 0.75), ("min_cohens_kappa", 1), ("min_cohens_kappa", True), ("min_cohens_kappa", None), ("min_cohens_kappa", "3 quarters"),
    ("min_cohens_kappa", "NaN"), ("min_cohens_kappa", "inf"), ("min_cohens_kappa", "1e999999999"), ("min_cohens_kappa", "0_1"),
    ("receipt_decimals", "6"), ("receipt_decimals", 6.0), ("receipt_decimals", True), ("structural_dedup_keys", None),
    ("enforced_dedup_keys", []), ("enforced_dedup_keys", "prompt_normalized_sha256"), ("enforced_dedup_keys", [DEDUP_KEYS[0], DEDUP_KEYS[0]]),
    ("outcome_run_reducer", None), ("outcome_run_reducer", ["majority"]),
])
def test_a_value_of_another_type_is_refused(key: str, value: Any) -> None:
    error = refused(with_entry(key, value=value))
    assert error.code == "wrong_type" and error.where is not None and error.where.field == f"{key}.value"


@pytest.mark.parametrize("bounds", [None, [], ["0"], ["0", "1", "2"], "0..1", [0, 1], ["1", "0"]])
def test_bounds_of_another_form_are_refused(bounds: Any) -> None:
    assert refused(with_entry("min_cohens_kappa", bounds=bounds)).code in ("wrong_type", "bounds_widened")


def test_the_code_must_compute_as_many_keys_as_the_grid_says() -> None:
    error = refused(with_entry("structural_dedup_keys", value=2))
    assert error.code == "dedup_key_count" and "3" in error.expected and error.got == "2"


@pytest.mark.parametrize(("change", "code"), [
    (lambda document: document.update(grid_schema_version=4), "unknown_grid_schema"),
    (lambda document: document.update(grid_schema_version=0), "unknown_grid_schema"),
    (lambda document: document.update(grid_schema_version=1), "unknown_grid_key"),
    (lambda document: document.update(grid_schema_version=True), "unknown_grid_schema"),
    (lambda document: document.update(version=0), "wrong_type"),
    (lambda document: document.update(version=True), "wrong_type"),
    (lambda document: document.update(author=" "), "wrong_type"),
    (lambda document: document.update(reason=None), "wrong_type"),
    (lambda document: document.pop("author"), "missing_grid_field"),
    (lambda document: document.update(comment="x"), "unknown_grid_field"),
    (lambda document: document.update(keys=[]), "wrong_type"),
    (lambda document: document["keys"].update(dpo_beta="0.1"), "wrong_type"),
    (lambda document: document["keys"]["dpo_beta"].pop("source"), "missing_grid_field"),
    (lambda document: document["keys"]["dpo_beta"].update(rationale=""), "wrong_type"),
    (lambda document: document["keys"]["dpo_beta"].update(colour="blue"), "unknown_grid_field"),
])
def test_a_document_of_another_form_is_refused(change: Callable[[dict], Any], code: str) -> None:
    assert refused(changed(change)).code == code


@pytest.mark.parametrize("document", [None, [], "grid", 7])
def test_anything_but_an_object_is_refused(document: Any) -> None:
    assert refused(document).code == "wrong_type"


@pytest.mark.parametrize(("data", "code"), [
    (b'{"a": NaN}', "non_finite_number"), (b'{"a": 1, "a": 2}', "duplicate_json_key"), (b"{", "not_json"), (b"\xef\xbb\xbf{}", "byte_order_mark"),
])
def test_a_grid_file_is_read_strictly(tmp_path: Path, data: bytes, code: str) -> None:
    path = tmp_path / "grid.json"
    path.write_bytes(data)
    with pytest.raises(GridError) as caught:
        load_grid(path)
    assert caught.value.code == code


def test_a_grid_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(GridError) as caught:
        load_grid(tmp_path / "absent.json")
    assert caught.value.code == "grid_unreadable" and "absent.json" in str(caught.value)


@pytest.mark.parametrize("case", json.loads((ORACLES / "exact_thresholds.json").read_text("utf-8"))["parse_cases"], ids=lambda case: case["text"])
def test_thresholds_are_read_as_the_oracle_says(case: dict) -> None:
    if "exact" in case:
        assert parse_decimal(case["text"]) == Fraction(case["exact"])
    else:
        with pytest.raises(ValueError):
            parse_decimal(case["text"])


@pytest.mark.parametrize("text", ["1e1000", "0." + "1" * 90, "\u0661", "1/00", "--1", "1e", ".", "+", "1 2", "0x1", "1,5"])
def test_thresholds_that_are_no_plain_decimal(text: str) -> None:
    with pytest.raises(ValueError):
        parse_decimal(text)


def test_an_exact_threshold_is_not_its_double() -> None:
    assert parse_decimal("0.05") == Fraction(1, 20) != Fraction(0.05)


def test_the_schema_file_describes_the_shipped_grid_and_the_same_keys() -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.check_schema(SCHEMA)
    validator.validate(SHIPPED)
    keys = SCHEMA["properties"]["keys"]
    groups = [keys["required"], *(group["then"]["properties"]["keys"]["required"] for group in SCHEMA["allOf"])]
    assert sorted(key for group in groups for key in group) == sorted(keys["properties"]) == sorted(KEYS)
    for document, next_key in ((FIRST, "look_alpha"), (SECOND, "style_correlation")):
        validator.validate(document)
        assert not validator.is_valid(document | {"grid_schema_version": document["grid_schema_version"] + 1})
        assert not validator.is_valid(document | {"keys": document["keys"] | {next_key: SHIPPED["keys"][next_key]}})
    for key, entry in SHIPPED["keys"].items():
        stated = keys["properties"][key]["properties"]
        assert (stated["unit"]["const"], stated["direction"]["const"]) == (entry["unit"], entry["direction"])
    for broken in (
        with_entry("min_cohens_kappa", value=0.75), with_entry("outcome_run_reducer", value="median"),
        with_entry("min_cohens_kappa", direction="max"), with_entry("min_cohens_kappa", value=None),
        changed(lambda document: document["keys"].pop("dpo_beta")),
    ):
        assert not validator.is_valid(broken)
        refused(broken)
    assert validator.is_valid(with_entry("min_net_holdout_gain", value="0.01"))


# several schema versions


def test_earlier_released_grids_stay_what_they_were_and_stay_accepted() -> None:
    # written down when they were published; a published grid is never edited
    first = "724602c18a740d04f59db50ef5df89594a9ff1e4d1f29457ab83a67911e2b93d"
    second = "6266c730c5c54dd6e201532e7b83638a8ac1f671fee2df8e9b2f45e47a55aee8"
    assert [sha256_hex(canonical_bytes(document)) for document in (FIRST, SECOND)] == [first, second]
    assert set(shipped_grids()) == {first, second, default_grid().digest}


@pytest.mark.parametrize("earlier", [FIRST, SECOND])
def test_a_new_default_grid_changes_no_value_that_an_earlier_one_has(earlier: dict[str, Any]) -> None:
    assert {key: SHIPPED["keys"][key]["value"] for key in earlier["keys"]} == {key: entry["value"] for key, entry in earlier["keys"].items()}


def test_a_key_of_a_later_schema_is_off_in_an_earlier_grid() -> None:
    first = grid_from_document(FIRST)
    assert "look_alpha" not in first and "look_alpha" in default_grid()
    assert first.text("look_alpha") == "off" and first.optional_fraction("look_alpha") is None
    for read in (first.fraction, first.integer, first.name_of, first.names):
        with pytest.raises(GridError) as caught:
            read("planned_looks")
        assert caught.value.code == "grid_key_off"


def test_the_second_schema_only_adds_keys_and_differences_name_them() -> None:
    first = grid_from_document(FIRST)
    changed_keys = {key for key, _, _ in default_grid().differences(first)}
    assert changed_keys == set(default_grid().keys) - set(first.keys)
    assert ("planned_looks", "20", "off") in default_grid().differences(first)
