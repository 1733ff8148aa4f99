"""The Unicode 14.0 tables behind the normal forms: as the generator writes them, and untouched by a newer Python."""
from __future__ import annotations

import importlib.util
import json
import unicodedata
from pathlib import Path
from types import ModuleType

from core.pairs import normal_forms
from core.pairs.normal_forms import SPACES, p1, plain_p1, plain_s1, s1

ROOT = Path(__file__).parents[2]
FILE = ROOT / "core/pairs/unicode14.json"
TABLES = json.loads(FILE.read_text("utf-8"))


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_unicode14", ROOT / "tests/fixtures/unicode/make_unicode14.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_is_what_the_generator_writes() -> None:
    made = generator()
    if unicodedata.unidata_version == made.VERSION:
        assert made.rendered() == FILE.read_text("utf-8")
    else:
        # a newer Python assigns more, and takes nothing back: what 14.0 left unassigned holds everything that is so now
        unassigned = {point for first, last in TABLES["unassigned"] for point in range(first, last + 1)}
        assert all(point in unassigned for first, last in made.ranges(lambda c: unicodedata.category(c) == "Cn") for point in range(first, last + 1))


def test_counts_of_unicode_14() -> None:
    # 14.0 has 144,697 graphic and format characters (https://www.unicode.org/versions/Unicode14.0.0/), and as every version 65
    # controls, 2,048 surrogates and 137,468 points for private use; what is left of 1,114,112 code points is unassigned
    size = sum(last - first + 1 for first, last in TABLES["unassigned"])
    assert size == 1_114_112 - 144_697 - 65 - 2_048 - 137_468


def test_white_space_is_what_str_split_splits_at() -> None:
    assert {chr(point) for point in range(0x110000) if chr(point).isspace()} == set(SPACES)


def test_code_points_that_14_does_not_assign_pass_untouched() -> None:
    # U+1E030 is a modifier letter with a <super> decomposition since 15.0, U+1C89 a capital since 16.0, U+0378 is none to this day
    for late in ("\U0001e030", "\u1c89", "\u0378", "\U0001e4d0", "\U00010d50"):
        text = f"Ab {late}{late} CD{late}"
        expected = f"ab {late}{late} cd{late}"
        assert [form(text) for form in (p1, plain_p1, s1, plain_s1)] == [expected] * 4


def test_normalising_run_by_run_changes_nothing_in_14() -> None:
    # U+0378 starts a run; in 14.0 nothing composes or reorders across it
    text = "e\u0301\u0378\u0301e q\u0323\u0307\u0378\u0307\u0323"
    if unicodedata.unidata_version == TABLES["unicode_version"]:
        assert normal_forms._assigned(normal_forms._nfkc, text) == unicodedata.normalize("NFKC", text)
