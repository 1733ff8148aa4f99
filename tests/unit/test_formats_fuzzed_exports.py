"""Arbitrary JSON inside rows of distilabel, Argilla and JudgeBench: every row becomes rows or one fault, and nothing else is raised."""
from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.rounds.columns import FOREIGN_COLUMNS, CellFault
from core.rounds.readers.format import Declared
from core.rounds.readers.formats import FORMATS
from core.rounds.typing_rows import type_rows

PAIRS = {"ids": "line", "origin": "verified", "pair": "best_worst"}
RATED = PAIRS | {"prompt": "q", "rating.a": "ra", "rating.b": "rb"}
USER = {"user_id": "u", "value": 1, "status": "submitted"}
CASES: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "distilabel": ("distilabel", PAIRS, {
        "instruction": "i", "system_prompt": "s", "generations": ["x", "y"], "ratings": [1, 2], "generation_models": ["m", "n"],
    }),
    "nested 1": ("argilla-records", RATED, {
        "fields": {"q": "i", "a": "x", "b": "y"}, "suggestions": [{"question_name": "ra", "value": 1, "score": 1, "agent": "m"}],
        "responses": [{"user_id": "u", "status": "submitted", "values": {"ra": {"value": 1}, "rb": {"value": 2}}}],
    }),
    "nested 2": ("argilla-records", PAIRS | {"prompt": "q", "ranking": "best", "status": "submitted"}, {
        "fields": {"q": "i", "a": "x", "b": "y"}, "suggestions": {}, "responses": {"best": [{"value": ["a", "b"], "user_id": "u"}]},
    }),
    "flat 1": ("argilla-records", PAIRS | {"prompt": "q", "ranking": "best"}, {
        "q": "i", "a": "x", "b": "y", "best": [USER | {"value": [{"value": "a", "rank": 1}, {"value": "b", "rank": 2}]}], "best-suggestion": None,
    }),
    "flat 2": ("argilla-records", RATED, {
        "q": "i", "a": "x", "b": "y", "ra.responses": [1], "ra.responses.users": ["u"], "ra.responses.status": ["submitted"],
        "rb.responses": [2], "rb.responses.users": ["u"], "rb.responses.status": ["submitted"],
    }),
    "suggestions": ("argilla-records", RATED | {"answers": "suggestions"}, {
        "fields": {"q": "i", "a": "x", "b": "y"}, "responses": {}, "suggestions": {"ra": {"value": 1}, "rb": {"value": 2}},
    }),
    "ratings": ("argilla-ratings", {"question": "ra", "case": "id"}, {"id": "c", "ra": [USER], "q": "i"}),
    "judgebench": ("judgebench", {"judge": "j"}, {
        "pair_id": "p", "source": "s", "question": "q", "response_A": "x", "response_B": "y", "label": "A>B", "judge_name": "n",
        "judgments": [{"judgment": {"judge_model": "m", "response": "r"}, "decision": "A>B"}, {"judgment": {"judge_model": "m"}, "decision": "B>A"}],
    }),
}
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS | st.sampled_from(["", "a", "ra", "A=B", "submitted"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["value", "rank", "ra", "a", "status"]), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places in a JSON value, each the way to it."""
    inner = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    return [place, *(found for key, item in inner for found in places(item, (*place, key)))]


def changed(row: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    row = copy.deepcopy(row)
    at = row
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    return row


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_row_becomes_rows_or_a_fault(tmp_path: Path, case: str, data: st.DataObject) -> None:
    name, options, row = CASES[case]
    found = data.draw(st.sampled_from(places(row)))
    path = tmp_path / "a.json"
    path.write_text(json.dumps([changed(row, found, data.draw(VALUES)), row]), "utf-8")
    declared = Declared(path, "a.json", options)
    rows = list(FORMATS[name].rows(declared))
    first, last = ([made for made in rows if made.line == line] for line in (1, 2))
    # the row as it was is read as it was, whatever stood before it (a judge of another name aside, which it may then differ from)
    assert last and (case == "judgebench" or not any(isinstance(made.value, CellFault) for made in last))
    assert len(first) == 1 or case in ("ratings", "judgebench")
    batches = list(type_rows("a.json", FOREIGN_COLUMNS[FORMATS[name].part], rows))
    assert sum(batch.read for batch in batches) == len(rows)


@pytest.mark.parametrize("case", CASES)
def test_the_rows_that_are_changed_are_good_ones(tmp_path: Path, case: str) -> None:
    name, options, row = CASES[case]
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row), "utf-8")
    rows = list(FORMATS[name].rows(Declared(path, "a.jsonl", options)))
    assert rows and not any(isinstance(made.value, CellFault) for made in rows)
