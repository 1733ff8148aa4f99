"""Normal forms against the oracle, and the fast forms against their definitions (tests/reference has a second implementation)."""
from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support_pairs import TEXTS, oracle

from core.errors import RoundError
from core.pairs.keys import framed_digest, pair_keys
from core.pairs.normal_forms import is_blank, p1, plain_p1, plain_s1, require_text, s1, t1
from core.pairs.scripts import mixed_script_words
from core.pairs.templates import template_clusters

ORACLE = oracle("structural_dedup")
FORMS = {"prompt": (p1, plain_p1), "skeleton": (s1, plain_s1), "template_report": (t1,)}


@pytest.mark.parametrize("case", ORACLE["pairs"], ids=lambda case: case["id"])
def test_pairs_of_the_oracle(case: dict) -> None:
    for level, forms in FORMS.items():
        expected = case["expected"][level]
        for form in forms:
            got = {side: form(case["inputs"][side]) for side in "ab"}
            assert got | {"collide": got["a"] == got["b"]} == expected, level


@pytest.mark.parametrize("case", ORACLE["error_cases"], ids=lambda case: case["id"])
def test_error_cases_of_the_oracle(case: dict) -> None:
    escaped = case["inputs"].get("text_escaped")
    value = escaped.encode().decode("unicode-escape") if escaped else case["inputs"]["text"]
    if "error" in case["expected"]:
        with pytest.raises(RoundError) as caught:
            require_text(value)
        assert caught.value.code == case["expected"]["error"]
    else:
        assert p1(require_text(value)) == case["expected"]["prompt"]


@pytest.mark.parametrize("row", ORACLE["worked_example_keys"], ids=lambda row: row["pair_id"])
def test_keys_of_the_worked_example(row: dict) -> None:
    # these normal forms are their own normal forms, so the keys follow from them
    got = pair_keys(row["prompt_normalized"], row["chosen_skeleton"], row["rejected_skeleton"])
    assert got == {name: row[name] for name in got}


@pytest.mark.parametrize("row", ORACLE["framing"], ids=lambda row: "-".join(row["fields"]))
def test_framing_keeps_fields_apart(row: dict) -> None:
    assert framed_digest(*row["fields"]) == row["sha256"]


@settings(max_examples=1000)
@given(TEXTS | st.text(st.characters(exclude_categories=("Cs",)), max_size=30))
@example("- \n*a*\n-  \n# \n1. \n1) x")
@example("**bold\n**x** ***y*** ****z****")
@example("see [a](b)(c) ![x](y) [p`](`q)")
def test_fast_forms_are_the_definitions(text: str) -> None:
    assert (p1(text), s1(text)) == (plain_p1(text), plain_s1(text))


@settings(max_examples=300)
@given(TEXTS)
def test_a_prompt_form_is_its_own_form(text: str) -> None:
    assert p1(p1(text)) == p1(text)


def test_a_prompt_form_is_its_own_form_for_every_letter_mark_and_symbol_of_the_first_planes() -> None:
    blocks = (range(0x3100), range(0xA640, 0xABFF), range(0xF900, 0x10000), range(0x1D400, 0x1D800), range(0x1F100, 0x1F200))
    assert [point for block in blocks for point in map(chr, block) if p1(p1(point)) != p1(point)] == []


def test_markers_and_quotes_cannot_make_it_slow() -> None:
    # linear in the length: a quadratic rule would take minutes here
    pieces = (">", "# ", "*a ", "[", "[a](", "2026-11-29 15:30:", "a", "`", "\u00b2", "- ", "1) ")
    assert all(isinstance(s1(piece * 100_000), str) for piece in pieces)


def test_blank_texts() -> None:
    assert all(map(is_blank, ("", " \t\n", "\u200b \n", "\ufeff\u3000\ufe0f\u034f")))
    assert not any(map(is_blank, ("???", "```", "\u0301", "\u0378")))


@pytest.mark.parametrize("row", ORACLE["confusable_report"], ids=lambda row: ascii(row["text"]))
def test_confusable_report(row: dict) -> None:
    assert mixed_script_words(row["text"]) == row["mixed_script_words"]


def test_full_width_letters_are_latin_and_kanji_with_kana_are_not_mixed() -> None:
    assert mixed_script_words("\uff21\uff22C \u98df\u3079\u308b \u00b5m") == ["\u00b5m"]


def test_case_15_same_but_for_spaces_case_and_markdown() -> None:
    same = [s1(text) for text in ("Set retries to 3.", "set  retries to 3.", "**Set** retries to `3`.")]
    others = [s1(text) for text in ("Set retries to 30.", "Set retries to -3.", "Don't set retries to 3.", "x = a*b", "x = ab")]
    assert len(set(same)) == 1
    assert len({same[0], *others}) == 1 + len(others)


def test_template_clusters_name_the_pairs_largest_first() -> None:
    answers = {"p3": "The answer is 43.", "p1": "The answer is 42.", "p4": "Use x_1", "p2": "use y_2!", "p5": "the answer is 7", "p6": "No"}
    clusters = template_clusters(answers.items())
    assert [(cluster.template, cluster.pair_ids) for cluster in clusters] == [("the answer is <num>", ("p1", "p3", "p5")), ("use <id>", ("p2", "p4"))]
