"""Numbers with more digits than a double gives back: what decides on them sees every digit, and nothing stores another number unsaid."""
from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support_rounds import NOW, ROUND, folder_of, workspace_at

from core.canonical import canonical_bytes, parse_json
from core.cli.main import run
from core.errors import RoundError
from core.rounds.columns import CellFault
from core.rounds.ingest import ingest
from core.rounds.readers.format import Declared
from core.rounds.readers.graded import grade
from core.rounds.readers.rollouts import Rollout, read_rollouts
from core.rounds.readers.verdicts import VerdictRule
from core.settings import SETTINGS
from core.written_numbers import WrittenNumber, written_decimal

LONG = "0.12345678901234567890123"


@pytest.mark.parametrize(("text", "exact"), [
    (LONG, Fraction(12345678901234567890123, 10**23)), ("0.1", Fraction(1, 10)), ("0.10", Fraction(1, 10)), ("1e-1", Fraction(1, 10)),
    ("-0.30000000000000000000000001", -Fraction(3 * 10**25 + 1, 10**26)), ("1.5E2", Fraction(150)), ("0.0", Fraction(0)), ("-0.0", Fraction(0)),
    ("9007199254740993.0", Fraction(2**53 + 1)), ("1e-400", Fraction(1, 10**400)), ("12345.678901234567891", Fraction(12345678901234567891, 10**15)),
])
def test_every_digit_that_was_written_counts(text: str, exact: Fraction) -> None:
    assert written_decimal(parse_json(text)) == exact


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-1000, max_value=1000, places=None))
def test_any_decimal_is_kept(value: Decimal) -> None:
    text = format(value, "f")
    text = text if "." in text else f"{text}.0"
    if len(text) <= SETTINGS["json"]["number_characters"] and abs(value.adjusted()) <= SETTINGS["json"]["number_exponent"]:
        assert written_decimal(parse_json(text)) == Fraction(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_in_its_shortest_text_stays_a_plain_double(value: float) -> None:
    assert type(parse_json(json.dumps(value))) is float and type(parse_json(f"{value:.17e}")) in (float, WrittenNumber)
    assert parse_json(f"{value:.17e}") == value


def test_everywhere_else_it_is_the_double() -> None:
    found = parse_json(f'{{"a": {LONG}}}')
    near = 0.12345678901234568
    assert found == {"a": near} and hash(found["a"]) == hash(near) and json.dumps(found) == json.dumps({"a": near})
    assert canonical_bytes(found) == canonical_bytes({"a": near})
    assert pa.array([found["a"]]).to_pylist() == [near] and np.asarray([found["a"]]).dtype == np.float64


@pytest.mark.parametrize("text", ["0." + "1" * 2000, "1e-401", "1e-99999999999999999999999", "1e-99999999999"])
def test_a_number_out_of_all_proportion_is_refused_where_it_decides(text: str) -> None:
    """A fraction of a billion digits would stop the machine; as a double it is a number like any other."""
    value = parse_json(text)
    assert value == float(text) and written_decimal(value) is None
    with pytest.raises(CellFault) as fault:
        grade(value, "reward")
    assert (fault.value.code, fault.value.field) == ("number_too_long", "reward")


def test_verdicts_and_grades_are_told_what_was_written(tmp_path: Path) -> None:
    rule = VerdictRule(Declared(tmp_path, "x.jsonl", {"pass": ">=0.5"}, []), "score")
    # the nearest double of both is 0.5
    assert (rule.verdict(parse_json("0.49999999999999999999999")), rule.verdict(parse_json("0.50000000000000000000001"))) == (False, True)
    assert grade(parse_json(LONG), "score") == Fraction(12345678901234567890123, 10**23)


def rollouts(place: Path, *rewards: str, suffix: str = ".jsonl") -> Path:
    path = place / f"rollouts{suffix}"
    rows = [f'{{"task_id": "t", "rollout": {n}, "prompt": "Q?", "response": "{"ab"[n % 2] * (n + 1)}", "reward": {reward}, "token_count": 1}}'
            for n, reward in enumerate(rewards)]
    path.write_text(f"[{','.join(rows)}]" if suffix == ".json" else "".join(f"{row}\n" for row in rows), "utf-8")
    return path


def read(path: Path, **options: str) -> list[Rollout]:
    return list(read_rollouts(Declared(path, path.name, options, [])))


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_a_reward_is_the_decimal_that_was_written(tmp_path: Path, suffix: str) -> None:
    found = read(rollouts(tmp_path, LONG, "1.00000000000000000000001", suffix=suffix))
    assert found[0].reward == Fraction(12345678901234567890123, 10**23)
    # just above 1, which is not inside 0..1
    assert (found[1].reward, found[1].fault) == (None, "reward_out_of_range")


def test_a_reward_in_a_cell_of_a_csv_too(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.csv"
    path.write_text(f"task_id,prompt,response,reward\nt,Q?,a,{LONG}\n", "utf-8")
    assert read(path, cells="json")[0].reward == Fraction(12345678901234567890123, 10**23)


def test_a_reward_without_end_refuses_its_row(tmp_path: Path) -> None:
    with pytest.raises(RoundError) as refused:
        read(rollouts(tmp_path, "0." + "1" * 2000))
    assert (refused.value.code, refused.value.where.line, refused.value.where.field) == ("number_too_long", 1, "reward")


@pytest.mark.parametrize(("failing", "pairs"), [("0.00000000000000000000001", 0), ("0.0", 1), ("-0.0", 1)])
def test_margins_are_decided_on_every_digit(tmp_path: Path, failing: str, pairs: int) -> None:
    """1 - 1e-23 is less than the margin of 1 that the grid asks for; in doubles it is 1."""
    path, out = rollouts(tmp_path, "1.0", failing), tmp_path / "out.jsonl"
    assert run(["pairs", str(path), "--out", str(out)]) == (0 if pairs else 3)
    assert out.exists() is bool(pairs)


def test_a_pair_carries_no_score_that_is_another_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = rollouts(tmp_path, "1.00000000000000000000001", "0.0"), tmp_path / "out.jsonl"
    assert run(["pairs", str(path), "--out", str(out), "--option", "range=0..2"]) == 0
    (row,) = (json.loads(line) for line in out.read_text("utf-8").splitlines())
    assert "chosen_score" not in row and "rejected_score" not in row
    assert "warning [without_scores] 1 of 1 pair has a reward of more digits" in " ".join(capsys.readouterr().out.split())


def test_a_round_keeps_doubles_and_refuses_any_other_reward(tmp_path: Path) -> None:
    """By file, line and what it was; 0.1 is a double's shortest text, and stays."""
    for reward, code in (("0.1", None), (LONG, "reward_not_exact")):
        place = tmp_path / reward
        folder = folder_of(place / "input", {"rollouts": [{"task_id": "t", "prompt": "Q?", "response": "a", "reward": 0.5}]}, about=ROUND)
        rollouts(folder, reward)
        if code is None:
            ingest(folder, workspace_at(place), now=NOW)
            continue
        with pytest.raises(RoundError) as refused:
            ingest(folder, workspace_at(place), now=NOW)
        assert (refused.value.code, refused.value.where.line) == (code, 1) and "12345678901234567890123" in str(refused.value)
