"""Errors: who must act, which exit code, and one text for log, terminal and page."""
from __future__ import annotations

import pytest

from core import errors
from core.errors import EXIT, CountersignError, RoundError, Where


def all_classes(base: type[CountersignError] = CountersignError) -> list[type[CountersignError]]:
    return [base, *(found for child in base.__subclasses__() for found in all_classes(child))]


OURS = [cls for cls in all_classes() if cls.__module__ == errors.__name__]


def made(cls: type[CountersignError], where: Where | None = None) -> CountersignError:
    return cls("wrong_type", expected="a number", got='"n/a"', remedy="write a number", where=where)


def test_exit_codes_are_those_of_the_specification() -> None:
    # specification, section 5: exit codes of the command line
    assert EXIT == {
        "done": 0, "fault": 1, "usage": 2, "refused": 3, "bad_input": 4, "not_authorised": 5, "files_differ": 6, "recomputed_differently": 7,
    }


@pytest.mark.parametrize(("name", "code"), [
    ("RoundError", 4), ("GridError", 4), ("ReceiptError", 4), ("RegistryError", 4), ("IdentityError", 5), ("SignatureError", 5), ("LedgerError", 5),
    ("DigestMismatch", 6), ("RecomputationError", 7), ("CountersignError", 1),
])
def test_each_class_has_its_exit_code(name: str, code: int) -> None:
    assert made(getattr(errors, name)).exit_code == code


@pytest.mark.parametrize("cls", OURS, ids=lambda cls: cls.__name__)
def test_each_class_says_who_must_act(cls: type[CountersignError]) -> None:
    error = made(cls)
    assert error.who and error.exit_name in EXIT
    assert f"To do ({error.who}): write a number." in str(error)
    assert cls.__doc__


def test_the_text_names_code_place_expected_got_and_remedy() -> None:
    error = made(RoundError, Where("pairs.jsonl", 3, "ref_logp_chosen"))
    assert str(error) == (
        "[wrong_type] pairs.jsonl, line 3, field ref_logp_chosen: expected a number; got \"n/a\". To do (supplier of the round): write a number."
    )
    assert error.as_dict() == {
        "error": "wrong_type", "who": "supplier of the round", "expected": "a number", "got": '"n/a"', "remedy": "write a number",
        "file": "pairs.jsonl", "line": 3, "field": "ref_logp_chosen", "exit_code": 4,
    }


def test_without_a_place_the_text_has_none() -> None:
    for where in (None, Where()):
        error = made(RoundError, where)
        assert str(error).startswith("[wrong_type] expected a number;")
        assert (error.as_dict()["file"], error.as_dict()["line"], error.as_dict()["field"]) == (None, None, None)


@pytest.mark.parametrize(("where", "text"), [
    (Where("a.json"), "a.json"), (Where(line=0), "line 0"), (Where(field="x[2].y"), "field x[2].y"), (Where("a", 2), "a, line 2"), (Where(), ""),
])
def test_places(where: Where, text: str) -> None:
    assert str(where) == text


def test_an_error_is_caught_as_one_of_ours() -> None:
    with pytest.raises(CountersignError) as caught:
        raise made(RoundError)
    assert caught.value.args == ("wrong_type",)
