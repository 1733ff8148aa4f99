"""The registry: detection that names or refuses, never guesses; options by name and legal value; what every pair format shares."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support_formats import assistant, codes, column, extras, note, quarantine, read, refused, texts, user, written

from core.errors import RoundError, Where
from core.gates.curation import IterativeRpoPairCurator
from core.grid import default_grid
from core.rounds.readers.containers import SUFFIXES
from core.rounds.readers.formats import AUTO, FORMATS, checked_options, detect, format_named
from core.schemas import ALL_PARTS

ROW: dict[str, Any] = {"prompt": "Say hi.", "chosen": "Hi.", "rejected": "No."}
TALK = [user("Say hi."), assistant("Hi.")]
EXAMPLES: list[tuple[str, list[dict[str, Any]]]] = [
    ("trl", [ROW]), ("trl", [{"prompt": [user("a")], "chosen": [assistant("b")], "rejected": [assistant("c")]}]),
    ("trl", [{"chosen": TALK, "rejected": TALK}]),
    ("ultrafeedback", [{"prompt": "p", "chosen": TALK, "rejected": TALK, "score_chosen": 2.0, "score_rejected": 1.0}]),
    ("argilla", [ROW | {"chosen_rating": 2, "rejected_rating": 1}]),
    ("distilabel", [{"instruction": "i", "generations": ["a", "b"], "ratings": [1, None]}]),
    ("ultrafeedback-raw", [{"instruction": "i", "completions": [{"model": "m", "response": "a", "overall_score": 7.5}]}]),
    ("argilla-records", [{"fields": {"q": "i", "a": "a"}, "responses": {"best": [{"value": ["a"], "user_id": "u"}]}}]),
    ("argilla-records", [{"q": "i", "best.responses": None, "best.responses.users": None, "best.responses.status": None}]),
    ("argilla-records", [{"q": "i", "best": [], "best-suggestion": None, "best-suggestion-metadata": {"type": None}}]),
    ("llamafactory-alpaca", [{"instruction": "i", "input": "", "chosen": "a", "rejected": "b"}]),
    ("llamafactory-sharegpt", [{"conversations": [{"from": "human", "value": "a"}], "chosen": {"from": "gpt", "value": "b"},
                                "rejected": {"from": "gpt", "value": "c"}}]),
    ("ms-swift", [{"messages": TALK, "rejected_response": "No."}]), ("ms-swift", [{"messages": TALK, "rejected_messages": TALK}]),
    ("axolotl:chatml.intel", [{"question": "q", "chosen": "a", "rejected": "b"}]),
    ("axolotl:chatml.icr", [{"input": "q", "chosen": "a", "rejected": "b"}]),
    ("axolotl:chatml.argilla", [{"instruction": "q", "chosen_response": "a", "rejected_response": "b"}]),
    ("axolotl:chat_template.default", [{"messages": TALK, "chosen": "a", "rejected": "b"}]),
    ("openai", [{"input": {"messages": TALK}, "preferred_output": TALK, "non_preferred_output": TALK}]),
]


@pytest.mark.parametrize(("name", "rows"), EXAMPLES)
@pytest.mark.parametrize("file", ["a.jsonl", "a.parquet"])
def test_a_format_is_told_by_its_rows_alone(tmp_path: Path, name: str, rows: list[dict[str, Any]], file: str) -> None:
    path = written(tmp_path, file, rows * 3)
    found, why = detect(path, file)
    assert (found.name, why.startswith("every row looked at has ")) == (name, True)
    assert detect(path, file, part="pairs") == (found, why)


@pytest.mark.parametrize(("rows", "code"), [
    ([], "unrecognised_format"), ([{}], "unrecognised_format"), ([7], "unrecognised_format"), ([{"text": "a"}], "unrecognised_format"),
    ([ROW, {"prompt": "p", "completion": "c", "label": True}], "unrecognised_format"),  # mixed rows are of no format
    ([{"prompt": "p", "completion": "c", "label": True}], "unrecognised_format"),  # unpaired preference
    ([ROW | {"instruction": "i"}], "unrecognised_format"),
    ([ROW | {"system": "s"}], "ambiguous_format"), ([{"messages": TALK, "chosen": TALK, "rejected": TALK}], "ambiguous_format"),
])
def test_what_cannot_be_told_is_refused(tmp_path: Path, rows: list[Any], code: str) -> None:
    with pytest.raises(RoundError) as caught:
        detect(written(tmp_path, "a.jsonl", rows), "a.jsonl")
    assert caught.value.code == code
    assert ("name the one that it is: --format trl or --format " if code == "ambiguous_format" else "name the format yourself") in caught.value.remedy


def test_an_ambiguous_file_is_refused_with_the_formats_that_fit(tmp_path: Path) -> None:
    with pytest.raises(RoundError) as caught:
        detect(written(tmp_path, "a.jsonl", [{"messages": TALK, "chosen": TALK, "rejected": TALK}]), "a.jsonl")
    assert caught.value.got == "rows that fit trl and axolotl:chat_template.default"


def test_only_formats_of_the_part_are_asked(tmp_path: Path) -> None:
    with pytest.raises(RoundError) as caught:
        detect(written(tmp_path, "a.jsonl", [ROW]), "a.jsonl", part="outcomes")
    assert caught.value.code == "unrecognised_format"


def test_csv_is_told_by_its_name_and_other_files_not_at_all(tmp_path: Path) -> None:
    assert detect(written(tmp_path, "a.csv.gz", b"a,b\n1,2\n"), "a.csv.gz")[0].name == "csv"
    with pytest.raises(RoundError):
        detect(written(tmp_path, "a.bin", b"\x00"), "a.bin")


def test_every_format_is_well_formed() -> None:
    for name, item in FORMATS.items():
        assert name == item.name and name != AUTO and item.part in ALL_PARTS and item.title
        assert all(option.meaning and isinstance(option.choices, tuple) for option in item.options.values())
    assert {name.split(":")[0] for name in FORMATS} >= {
        "trl", "openrlhf", "ultrafeedback", "argilla", "llamafactory-alpaca", "llamafactory-sharegpt", "ms-swift", "axolotl", "openai", "csv",
    }
    assert {".jsonl", ".json", ".csv", ".parquet", ".arrow", ".feather"} == set(SUFFIXES)


def test_an_unknown_format_is_refused_with_the_nearest() -> None:
    with pytest.raises(RoundError) as caught:
        format_named("llama-factory-alpaca", Where("a.jsonl"))
    assert (caught.value.code, caught.value.remedy) == ("unknown_format", "did you mean 'llamafactory-alpaca'?")


@pytest.mark.parametrize(("options", "code", "words"), [
    ({"id": "line"}, "unknown_option", "ids"), ({"ids": "row"}, "unknown_value", "line"), ({"ids": 1}, "wrong_type", ""),
    ({"ids": ""}, "wrong_type", ""),
    ({"column": "a"}, "unknown_option", ""), ({"columns.pair_id": "a"}, "unknown_option", ""), ({"judge": "x" * 257}, "wrong_type", ""),
])
def test_options_are_checked(options: dict[str, Any], code: str, words: str) -> None:
    with pytest.raises(RoundError) as caught:
        checked_options(FORMATS["trl"], options, Where("a.jsonl"))
    assert caught.value.code == code and words in str(caught.value)
    assert caught.value.where is not None and caught.value.where.file == "a.jsonl"


# what every format of pairs shares


def test_ids_and_origin_are_declared_or_in_the_file(tmp_path: Path) -> None:
    assert refused(tmp_path / "a", "a.jsonl", [ROW], ids="").code == "missing_ids"
    assert refused(tmp_path / "b", "a.jsonl", [ROW], origin="").code == "missing_origin"
    source, _ = read(tmp_path / "c", "a.jsonl", [ROW] * 2, origin="synthetic", judge="j-1")
    assert column(source, "pair_id") == ["a-000001", "a-000002"]
    assert (column(source, "origin"), column(source, "judge_id")) == (["synthetic"] * 2, ["j-1"] * 2)


def test_what_is_said_twice_is_a_fault(tmp_path: Path) -> None:
    rows = [ROW, ROW | {"pair_id": "p"}, ROW | {"origin": "synthetic"}, ROW | {"judge_id": "j"}, ROW | {"chosen_verified_pass": False}]
    source, _ = read(tmp_path, "a.jsonl", rows, flags="dataset_label", judge="j-1")
    assert [row[1:] for row in quarantine(source)] == [
        (2, "pair_id", "said_twice"), (3, "origin", "said_twice"), (4, "judge_id", "said_twice"), (5, "chosen_verified_pass", "said_twice"),
    ]


def test_integer_ids_become_text_only_where_declared(tmp_path: Path) -> None:
    """Case 13: 1 and "1" may be two pairs or one; in one file they are a fault even where integers may become text."""
    rows = [ROW | {"idx": 1}, ROW | {"idx": 2**53 - 1}, ROW | {"idx": "1"}, ROW | {"idx": 1.5}, ROW | {"idx": True}]
    source, report = read(tmp_path / "a", "a.jsonl", rows, ids="", column__pair_id="idx")
    assert [row[1:] for row in quarantine(source)] == [(line, "pair_id", "wrong_type") for line in (1, 2, 4, 5)]
    source, report = read(tmp_path / "b", "a.jsonl", rows, ids="", column__pair_id="idx", integer_ids="text")
    assert column(source, "pair_id") == ["1", "9007199254740991"]
    assert [row[1:] for row in quarantine(source)] == [(3, "idx", "id_in_two_forms"), (4, "idx", "wrong_type"), (5, "idx", "wrong_type")]
    assert "integer in 2 rows" in note(report, "numbered_ids")


def test_columns_are_mapped_as_declared(tmp_path: Path) -> None:
    row = {"q": "Say hi.", "a": "Hi.", "b": "No.", "n_a": 3, "n_b": 4, "key": "k-1", "left": 1}
    source, _ = read(
        tmp_path, "a.jsonl", [row], "trl", ids="", column__prompt="q", column__chosen="a", column__rejected="b", column__pair_id="key",
        column__chosen_token_count="n_a", column__rejected_token_count="n_b",
    )
    assert texts(source) == [ROW]
    assert (column(source, "pair_id"), column(source, "chosen_token_count"), column(source, "rejected_token_count")) == (["k-1"], [3], [4])
    assert extras(source) == [{"left": 1}]


@pytest.mark.parametrize(("option", "value", "code"), [
    ("column.pair", "id", "unknown_column"), ("column.extra", "id", "unknown_column"), ("column.pair_id", "ids", "no_such_column"),
])
def test_a_mapping_names_columns_that_there_are(tmp_path: Path, option: str, value: str, code: str) -> None:
    error = refused(tmp_path, "a.jsonl", [ROW | {"id": "x"}], **{option: value})
    assert (error.code, error.where and error.where.field) == (code, option)


def test_two_of_our_columns_may_come_from_one(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [ROW | {"key": "k-1"}], ids="", column__pair_id="key", column__task_id="key")
    assert (column(source, "pair_id"), column(source, "task_id"), extras(source)) == (["k-1"], ["k-1"], [None])


def test_a_mapped_column_and_our_own_are_said_twice(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [ROW | {"q": "Other?"}], column__prompt="q")
    assert quarantine(source) == [("a.jsonl", 1, "q", "said_twice")]


FLAGGED = ROW | {"chosen_verified_pass": 1, "rejected_tombstone_fail": 0}


def test_flags_are_booleans_unless_a_coercion_is_declared(tmp_path: Path) -> None:
    source, _ = read(tmp_path / "a", "a.jsonl", [FLAGGED])
    assert quarantine(source) == [("a.jsonl", 1, "chosen_verified_pass", "wrong_type")]
    rows = [FLAGGED, ROW | {"chosen_verified_pass": True, "rejected_tombstone_fail": None}, FLAGGED | {"chosen_verified_pass": 2},
            FLAGGED | {"chosen_verified_pass": "true"}, FLAGGED | {"chosen_verified_pass": 1.0}]
    source, report = read(tmp_path / "b", "a.jsonl", rows, booleans="0/1")
    assert column(source, "chosen_verified_pass") == [True, True] and column(source, "rejected_tombstone_fail") == [False, None]
    assert [row[1] for row in quarantine(source)] == [3, 4, 5]
    # two flags of row 1; of the rows that were quarantined for their other flag none was coerced before it
    assert note(report, "coerced_flags") == "a.jsonl: 2 verifier flags were read as true or false (0/1), as declared"
    source, _ = read(tmp_path / "c", "a.jsonl", [ROW | {"chosen_verified_pass": "true", "rejected_tombstone_fail": "false"}], booleans="true/false")
    assert (column(source, "chosen_verified_pass"), column(source, "rejected_tombstone_fail")) == ([True], [False])


def test_no_flag_is_made_up(tmp_path: Path) -> None:
    source, report = read(tmp_path, "a.jsonl", [ROW])
    assert (column(source, "chosen_verified_pass"), column(source, "rejected_tombstone_fail")) == ([None], [None])
    assert "dataset_label" not in codes(report)


def test_float32_columns_are_refused_where_a_double_belongs(tmp_path: Path) -> None:
    for name, declared in (("policy_chosen_logps", {"logps": "sums"}), ("chosen_score", {}), ("lp", {"column.ref_logp_chosen": "lp"})):
        table = pa.table({"prompt": ["p"], "chosen": ["c"], "rejected": ["r"], name: pa.array([-0.1], pa.float32())})
        error = refused(tmp_path / name, "a.parquet", table, **declared)
        assert (error.code, error.where and error.where.field) == ("float_column", name)


def test_what_a_foreign_pair_lacks_is_named_by_the_gates(tmp_path: Path) -> None:
    """No log-probs, token counts or flags: typed, and rejected with every reason by name; nothing passes for want of a number."""
    source, report = read(tmp_path, "a.jsonl", [ROW, ROW | {"prompt": "Other.", "chosen_token_count": 2, "rejected_token_count": 0}])
    assert (report.counts, report.quarantined) == ({"pairs": 2}, 0)
    (tmp_path / "scored").mkdir()
    found = IterativeRpoPairCurator(default_grid()).curate(source, quarantined=0, gates={}, destination=tmp_path / "scored")
    assert found.counts == {"in": 2, "admitted": 0, "rejected": 2, "held": 0, "quarantined": 0}
    rows = pq.read_table(tmp_path / "scored" / "scored.parquet").to_pylist()
    assert [row["sub_codes"] for row in rows] == [["missing_logp", "bad_token_count"]] * 2
    assert [row["reasons"] for row in rows] == [["invalid_record", "unverified"]] * 2


@pytest.mark.parametrize(("name", "data", "code", "line"), [
    ("rows.jsonl", '{"prompt": "q"}\n'.encode("utf-16"), "utf16", None),
    ("rows.json", '[{"prompt": "q"}]'.encode("utf-16"), "utf16", None),
    ("rows.jsonl", b'[{"prompt": "q", "chosen": "a", "rejected": "b"}]\n', "json_list_in_jsonl", 1),
    ("rows.jsonl", '{"prompt": "\xe9"}\n'.encode("latin-1"), "invalid_utf8", 1),
    ("rows.jsonl", b'{"prompt": "q", "chos', "cut_last_line", 1),
    ("rows.jsonl", b'{"prompt": "q", "prompt": "r"}\n', "duplicate_json_key", 1),
])
def test_a_file_of_which_nothing_can_be_read_says_what_is_wrong_with_it(tmp_path: Path, name: str, data: bytes, code: str, line: int | None) -> None:
    """Case 19: no format can be told from such a file, so nobody would read it again and say why."""
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(RoundError) as caught:
        detect(path, name)
    assert caught.value.code == code and caught.value.where is not None and (line is None or caught.value.where.line == line)


def test_an_empty_file_has_no_rows_that_can_be_told(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b"")
    with pytest.raises(RoundError) as caught:
        detect(tmp_path / "rows.jsonl", "rows.jsonl")
    assert caught.value.code == "unrecognised_format"


def test_answers_without_a_prompt_are_told_to_bring_one(tmp_path: Path) -> None:
    """Case 3: nothing is split at what two texts happen to begin with, and the message asks for the prompt."""
    rows = [{"chosen": "The sky is blue", "rejected": "The skin is blue"}, {"chosen": "Paris ", "rejected": "Paris"}]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    with pytest.raises(RoundError) as caught:
        detect(tmp_path / "rows.jsonl", "rows.jsonl")
    assert caught.value.code == "unrecognised_format" and caught.value.remedy.startswith("give each row an explicit prompt")
