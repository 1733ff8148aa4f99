"""Contamination against a holdout: the oracle, another package's cases, a plain second implementation, and every script."""
from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.contamination import contaminated, jaccard
from support_pairs import FIXTURES, oracle

from core.pairs import suite as suite_module
from core.pairs.contamination import CheckedPair, ContaminationCheck, Finding, PairText, locked_texts
from core.pairs.grams import NONE, GramNumbers, covered
from core.pairs.locked_tasks import LockedTasks
from core.pairs.overlap import overlap
from core.pairs.suite import LockedText, Suite
from core.pairs.task_ids import task_ids
from core.pairs.words import words

FIELDS = ("prompt", "chosen", "rejected")
N, SHARE = 8, Fraction(4, 5)
CASES = oracle("decontamination")["cases"]
PEER = json.loads((FIXTURES / "peers" / "whileai_decontaminate.json").read_text("utf-8"))["cases"]
ASK = "Please cancel order A1002 and refund the card that was used for it today"


def checked(
    rows: list[dict[str, Any]], against: list[dict[str, Any]], n: int = N, share: Fraction = SHARE,
) -> tuple[ContaminationCheck, list[Finding]]:
    """Rows as plain objects, as another package holds them: prompt, answers and ids anywhere."""
    check = ContaminationCheck(against, n, share)
    pairs = [
        CheckedPair(place, f"p{place}", [PairText(field, row[field]) for field in FIELDS if isinstance(row.get(field), str)], list(task_ids(row)))
        for place, row in enumerate(rows)
    ]
    return check, check.check(pairs)


def one(training: str, locked: str, field: str = "prompt", name: str = "prompt") -> Finding | None:
    found = checked([{field: training}], [{name: locked}])[1]
    assert len(found) <= 1
    return found[0] if found else None


# the oracle


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_oracle(case: dict[str, Any]) -> None:
    training, locked, expected = *case["inputs"].values(), case["expected"]
    found = overlap(training, locked, N)
    assert (found.words, found.locked_words) == (expected["training_words"], expected["holdout_words"])
    assert (found.covered, found.locked_covered) == (expected["training_words_covered"], expected["holdout_words_covered"])
    assert found.exact is expected["exact_after_normalising"]
    finding = one(training, locked)
    assert (finding is not None) is expected["contaminated"]
    rules = () if finding is None else finding.rules
    assert ("exact" in rules) is expected["exact_after_normalising"]
    assert ("training_coverage" in rules) is expected["training_coverage_hit"]
    assert ("holdout_coverage" in rules) is expected["holdout_coverage_hit"]
    if finding is not None:
        counts = finding.words, finding.covered, finding.locked_words, finding.locked_covered
        assert counts == (found.words, found.covered, found.locked_words, found.locked_covered)
    assert jaccard(training, locked, 3) == Fraction(expected["word_jaccard_3gram"])


# another package's cases


def peer_cases(*, wrong: bool) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in PEER if case["name"].startswith("PEER-BUG") is wrong]


def share_of(case: dict[str, Any]) -> Fraction:
    return Fraction(case["kwargs"].get("overlap", SHARE))


@pytest.mark.parametrize("case", peer_cases(wrong=False))
def test_where_the_other_package_is_right_we_say_the_same(case: dict[str, Any]) -> None:
    """Its near rule looks at the training text alone, so it is compared with our rules but ``holdout_coverage``; what that rule adds is
    the next test."""
    check, findings = checked(case["rows"], case["against"], share=share_of(case))
    ours = [finding for finding in findings if finding.rules != ("holdout_coverage",)]
    rows = {finding.ordinal for finding in ours}
    assert [row for row in range(len(case["rows"])) if row not in rows] == case["kept"]
    report = case["report"]
    assert len(case["rows"]) - len(case["kept"]) == report["n_contaminated"] == len(rows)
    kinds = [finding.rule for finding in ours]
    assert (kinds.count("same_task"), kinds.count("exact"), kinds.count("training_coverage")) == (
        report["n_same_task"], report["n_exact"], report["n_near"],
    )
    for hit, finding in zip(case["hits"], ours, strict=True):
        assert hit["index"] == finding.ordinal
        if finding.rule == "training_coverage":
            assert round(finding.covered / finding.words, 3) == hit["coverage"]
    assert [rule for rule, _ in check.skipped() if rule == "same_task"][:1] == case["rules_skipped"]
    assert len(check.texts) == report["n_eval_texts"]


def test_two_locked_texts_that_each_lie_in_a_training_text_are_two_hits_of_the_holdout() -> None:
    """The one case where the holdout direction adds a hit to what the other package says. Neither locked text covers the 16 training
    words (8/16 each), but each of them has 8 of its own 10 words in the training text: exactly four fifths."""
    (case,) = (case for case in PEER if case["name"] == "two evals jointly cover but neither alone")
    (finding,) = checked(case["rows"], case["against"])[1]
    assert finding.rules == ("holdout_coverage",)
    assert (finding.covered, finding.words, finding.locked_covered, finding.locked_words, finding.locked_texts) == (8, 16, 8, 10, 2)


def bug(name: str) -> dict[str, Any]:
    (case,) = (case for case in PEER if case["name"] == f"PEER-BUG {name}")
    return case


def test_verbatim_copies_in_other_scripts_are_exact() -> None:
    # its words are [a-z0-9]+, so these texts have none and are passed over; ours has 12 Han words and 6 Cyrillic ones
    case = bug("verbatim non-Latin copy passes")
    assert [finding.rules[0] for finding in checked(case["rows"], case["against"])[1]] == ["exact", "exact"]


def test_a_question_mark_at_the_end_changes_no_word() -> None:
    # its exact rule compares strings, and three words are too few for a run: word lists are compared here
    case = bug("one trailing punctuation mark defeats exact on short text")
    assert [finding.rules for finding in checked(case["rows"], case["against"])[1]] == [("exact",)]


def test_an_ask_inside_a_longer_prompt_is_found_by_the_holdouts_coverage() -> None:
    # it divides by the training text alone: 14 of 37 words; all 14 locked words are there
    case = bug("eval ask embedded in longer prompt")
    (finding,) = checked(case["rows"], case["against"])[1]
    assert finding.rules == ("holdout_coverage",)
    assert (finding.locked_covered, finding.locked_words) == (14, 14)
    assert finding.covered == 14 and 5 * finding.covered < 4 * finding.words


def test_one_changed_word_in_the_middle_is_a_near_duplicate_and_no_contamination() -> None:
    """13 of 14 words are equal, but the changed one is the 8th: 7 words before it and 6 behind it hold no run of eight, so neither
    coverage can see it. The Jaccard similarity of word triples does: 12 triples each, 3 of them with the changed word, so 9 of 15."""
    case = bug("one mid word changed in 14")
    training, locked = case["rows"][0]["prompt"], case["against"][0]["prompt"]
    found = overlap(training, locked, N)
    assert (found.words, found.locked_words, found.covered, found.locked_covered) == (14, 14, 0, 0)
    assert checked(case["rows"], case["against"])[1] == []
    assert jaccard(training, locked, 3) == Fraction(9, 15)


def test_task_ids_on_the_sides_of_a_pair_are_found() -> None:
    # it looks on the row alone, and pairs made from rollouts keep the id on their sides
    case = bug("pair rows: task ids live on the sides")
    (finding,) = checked(case["rows"], case["against"])[1]
    assert (finding.rule, finding.field, finding.locked.text, finding.locked.field) == ("same_task", "chosen.scenario_id", "T1", "scenario_id")


def test_every_peer_bug_has_a_test_of_its_own() -> None:
    assert sum(case["name"].startswith("PEER-BUG") for case in PEER) == 5


# the index against the plain reading


SMALL = st.lists(st.sampled_from(["a", "b", "c", "d", "请", "Она"]), max_size=14).map(" ".join)


@settings(max_examples=400)
@given(st.lists(SMALL, max_size=8), st.lists(SMALL, max_size=8), st.sampled_from([1, 2, 3, 4, 5, 8]),
       st.sampled_from([Fraction(0), Fraction(1, 2), SHARE, SHARE + Fraction(1, 10**30), Fraction(1)]), st.booleans())
def test_the_index_finds_what_the_plain_reading_finds(training: list[str], locked: list[str], n: int, share: Fraction, table: bool) -> None:
    limits = suite_module._CELLS, suite_module._AT_ONCE
    suite_module._CELLS, suite_module._AT_ONCE = (limits[0] if table else 0), (limits[1] if table else 3)
    try:
        suite = Suite([LockedText(place, str(place), "prompt", text) for place, text in enumerate(locked)], n, share)
        found = {
            (row, owner.item): (match.words, int(one), int(suite.lengths[entry]), int(other), bool(exact))
            for row, match in suite.match(training)
            for entry, one, other, exact in zip(match.entries, match.covered, match.locked_covered, match.exact, strict=True)
            for owner in suite.owners[entry]
        }
    finally:
        suite_module._CELLS, suite_module._AT_ONCE = limits
    plain = {
        (row, item): counted for row, text in enumerate(training) for item, other in enumerate(locked)
        if (counted := contaminated(text, other, n, share)) is not None and counted[-1]
    }
    assert found == {key: counted[:-1] for key, counted in plain.items()}


@settings(max_examples=200)
@given(SMALL, SMALL, st.integers(1, 9))
def test_one_against_one_agrees_too_and_the_marks_are_the_covered_words(training: str, locked: str, n: int) -> None:
    found, plain = overlap(training, locked, n), contaminated(training, locked, n, SHARE)
    if plain is None:
        return
    assert (found.words, found.covered, found.locked_words, found.locked_covered, found.exact) == plain[:-1]
    if not found.exact:
        assert sum(len(words(training[start:end])) for start, end in found.spans) == found.covered
        assert sum(len(words(locked[start:end])) for start, end in found.locked_spans) == found.locked_covered


@given(st.lists(SMALL, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_order_and_batches_change_nothing(texts: list[str], random: Any) -> None:
    locked = [{"id": "h1", "prompt": " ".join("abcdabcdab")}, {"id": "h2", "prompt": "a b", "answer": "c d a b c d a b"}]
    rows = [{"prompt": text, "chosen": text[::-1], "task_id": f"t{place}"} for place, text in enumerate(texts)]

    def said(findings: Iterator[Finding]) -> set[tuple[Any, ...]]:
        return {(finding.pair_id, finding.field, finding.rules, finding.locked, finding.covered, finding.locked_texts) for finding in findings}

    pairs = [CheckedPair(place, f"p{place}", [PairText(field, row[field]) for field in FIELDS[:2]]) for place, row in enumerate(rows)]
    whole = ContaminationCheck(locked, 4, SHARE)
    expected = said(iter(whole.check(pairs)))
    random.shuffle(pairs)
    cut = ContaminationCheck(locked, 4, SHARE)
    assert said(finding for pair in pairs for finding in cut.check([pair])) == expected
    assert cut.hits.tolist() == whole.hits.tolist()


def test_texts_of_one_template_are_told_apart_and_a_template_above_the_share_hits_everywhere() -> None:
    template = "the customer {} asks about order {} and wants to know when it will arrive at the door of the house"
    locked = [{"id": f"h{place}", "prompt": template.format(f"ann{place}", place)} for place in range(30)]
    rows = [{"prompt": template.format(f"bob{place}", 100 + place)} for place in range(20)] + [{"prompt": template.format("ann7", 7)}]
    # 21 words with the two slots, and 14 behind the last slot: 14/21 = 2/3 < 4/5
    check, findings = checked(rows, locked)
    assert [(finding.ordinal, finding.locked.item_id, finding.rule, finding.locked_texts) for finding in findings] == [(20, "h7", "exact", 1)]
    longer = template + " today or tomorrow or on any later day of this week for sure and in time"
    # 37 words, 30 of them behind the last slot: 30/37 > 4/5, so every text of the template is a hit of every other
    check, findings = checked(
        [{"prompt": longer.format("bob", 1000 + place)} for place in range(20)], [{"prompt": longer.format("ann", place)} for place in range(30)],
    )
    assert {(finding.covered, finding.words, finding.locked_texts) for finding in findings} == {(30, 37, 30)} and len(findings) == 20
    assert check.hits.tolist() == [20] * 30


def test_runs_are_numbered_exactly_also_where_python_hashes_collide() -> None:
    """No hash decides: the numbers of all runs of a text are equal exactly where the runs are. hash(-1) == hash(-2) in CPython, and the
    same numbers as text are words here; 600 random streams over two words would show any mixing up of pairs."""
    rng = np.random.default_rng(5)
    for n in (1, 2, 3, 5, 6, 7, 8, 13):
        texts = [["xy"[bit] for bit in rng.integers(0, 2, size=rng.integers(0, 30))] for _ in range(75)]
        numbers = GramNumbers(texts, n)
        seen: dict[int, tuple[str, ...]] = {}
        for text, start in zip(texts, numbers.stream.starts, strict=True):
            for place in range(len(text)):
                run = tuple(text[place:place + n])
                number = int(numbers.grams[start + place])
                assert (number == NONE) is (len(run) < n)
                if number != NONE:
                    assert seen.setdefault(number, run) == run
        assert len(set(seen.values())) == len(seen) == numbers.size


@given(st.lists(st.booleans(), max_size=20), st.integers(1, 9))
def test_covered_positions(begins: list[bool], n: int) -> None:
    expected = [any(begins[max(0, place - n + 1):place + 1]) for place in range(len(begins))]
    assert covered(np.array(begins, dtype=np.bool_), n).tolist() == expected


# other scripts, short and empty texts


@pytest.mark.parametrize(("training", "locked", "hit"), [
    # Thai: every character of the locked ask stands in the longer text
    ("สวัสดีครับ ยกเลิกคำสั่งซื้อ ขอบคุณมากครับพี่ที่น่ารัก", "ยกเลิกคำสั่งซื้อ", ("holdout_coverage",)),
    # Japanese, ten words of ten
    ("注文を取り消してください", "注文を取り消してください。", ("exact", "training_coverage", "holdout_coverage")),
    # Chinese, one of 17 characters changed in the middle: the longest equal stretch is 8 of 17 on each side
    ("请取消订单并把费项退回原来的银行卡", "请取消订单并把款项退回原来的银行卡", None),
    # Cyrillic, case and end mark do not count
    ("ОТМЕНИТЕ заказ!", "отмените заказ", ("exact",)),
    ("😀😀", "😀😀", ("exact",)),        # no words: equal signs are equal texts
    ("😀😀", "🙁", None),
    ("???", "!!!", None), ("", "", None), (" ", "\u200b", None),
])
def test_scripts_and_texts_without_words(training: str, locked: str, hit: tuple[str, ...] | None) -> None:
    finding = one(training, locked)
    assert (None if finding is None else finding.rules) == hit


def test_marks_stand_in_the_original_texts() -> None:
    training = f"Hello!  You are a careful agent.\n\n{ASK.upper()}  and then stop"
    found = overlap(training, f"{ASK}?", N)
    assert [training[start:end] for start, end in found.spans] == [ASK.upper()]
    assert found.locked_spans == ((0, len(ASK)),)
    soft = "请取消订单，并把费项退回"
    found = overlap(f"OK: {soft}。 OK", soft, N)
    assert [f"OK: {soft}。 OK"[start:end] for start, end in found.spans] == [soft]


@pytest.mark.parametrize(("locked", "hit"), [
    ("set  retries to 3.", True), ("**Set** retries to `3`.", True),     # case 15 of the known problems: spaces and markdown are no words
    ("Set retries to 30.", False), ("Don't set retries to 3.", False), ("Set retries to 3 or 4", False),
    ("Set retries to -3.", True),                                         # a sign is no word either: two texts to look at, nothing is merged
])
def test_facts_that_differ_in_a_word_are_not_equal(locked: str, hit: bool) -> None:
    assert (one("Set retries to 3.", locked) is not None) is hit


# locked items


def test_every_text_of_an_item_counts_but_ids_and_roles_do_not() -> None:
    item = {
        "id": "an id with more than eight words in it to be sure", "prompt": "ask", "answer": "Forty Two", "choices": ["a b", "c d"], "n": 3,
        "context": [{"role": "user", "content": "hello there"}], "meta": {"task_id": "x", "source": "book"}, "none": None,
    }
    assert [(text.field, text.text, text.asks) for text in locked_texts([item])] == [
        ("prompt", "ask", True), ("answer", "Forty Two", False), ("choices[0]", "a b", False), ("choices[1]", "c d", False),
        ("context[0].content", "hello there", False), ("meta.source", "book", False),
    ]
    assert [text.field for text in locked_texts([item], left_out=["choices", "context", "meta"])] == ["prompt", "answer"]


def test_an_equal_short_answer_is_no_hit_and_is_said() -> None:
    against = [{"id": "h1", "prompt": "What is six times seven?", "answer": "42"}]
    check, findings = checked([{"prompt": "How old is he?", "chosen": "42", "rejected": "41"}], against)
    assert findings == []
    said = "1 answers that equal a locked text of fewer than 8 words which is no prompt: equal short answers prove nothing"
    assert ("exact", said) in check.skipped()
    # as a prompt, or as long as a run, it is one
    assert [finding.field for finding in checked([{"prompt": "42", "chosen": "x"}], against)[1]] == ["prompt"]
    long = "one two three four five six seven eight"
    assert one(long, long, field="chosen", name="answer") is not None
    assert one("What is six times seven?", "what is six times seven", field="chosen") is not None


def test_an_item_is_known_by_its_ids_and_by_a_bare_number_only_where_a_pair_declares_it() -> None:
    items = [
        {"id": "airline-7", "prompt": "x"}, {"id": "12", "prompt": "y"}, {"id": "h3", "task_id": 5, "prompt": "z"},
        {"id": "9", "task_id": "T9", "prompt": "w"}, {"id": 13, "prompt": "v"},
    ]
    tasks = LockedTasks(items)
    known = {task: [(text.item, text.field) for text in texts] for task, texts in tasks.known.items()}
    assert known == {"airline-7": [(0, "id")], 5: [(2, "task_id")], "h3": [(2, "id")], "T9": [(3, "task_id")]}
    assert {task: [text.item for text in texts] for task, texts in tasks.numbers.items()} == {"12": [1], 13: [4]}
    rows = [{"prompt": f"p{place}", **ids} for place, ids in enumerate([
        {"task_id": "airline-7"}, {"task_id": "12"}, {"scenario_id": 5}, {"chosen_task_id": "12"}, {"rejected": {"task_id": 13}},
        {"meta": {"task_id": "T9"}}, {"meta": {"task_id": "12"}}, {"task_id": "9"}, {"task_id": "13"}, {"task_id": "5"},
    ])]
    check, findings = checked(rows, items)
    assert [(finding.ordinal, finding.locked.item) for finding in findings] == [(0, 0), (1, 1), (2, 2), (3, 1), (4, 4), (5, 3)]
    # deep in other data 12 is any row's number; "9" is not item 3's task id, which is T9; 13 and "13", 5 and "5" are one id or two
    said = [(one.item, one.why, one.pairs, one.pair_id, one.field, one.task) for one in check.tasks.unjudged()]
    assert said == [
        (1, "bare_number", 1, "p6", "meta.task_id", "12"), (2, "other_form", 1, "p9", "task_id", "5"), (4, "other_form", 1, "p8", "task_id", "13"),
    ]


@pytest.mark.parametrize(("mine", "theirs", "judged"), [
    ("550E8400-E29B-41D4-A716-446655440000", "550e8400-e29b-41d4-a716-446655440000", "other_form"),     # case 21: case of a UUID
    ("h1 ", "h1", "other_form"), ("e\u0301-1", "\u00e9-1", "other_form"), ("任务\u20091", "任务1", "other_form"),   # case 13: space, Unicode form
    ("Задача-7", "задача-7", "other_form"), ("007", "7", None), ("007", "007", "same_task"), ("任务1", "任务1", "same_task"), ("h1", "h2", None),
    (9007199254740993, 9007199254740993, "same_task"), (9007199254740993, 9007199254740992, None),      # case 21: big integers are exact
])
def test_ids_that_differ_in_form_are_not_judged_and_others_are_two(mine: Any, theirs: Any, judged: str | None) -> None:
    check, findings = checked([{"prompt": "a", "scenario_id": mine}], [{"id": theirs, "prompt": "b"}])
    assert [finding.rule for finding in findings] == (["same_task"] if judged == "same_task" else [])
    assert [one.why for one in check.tasks.unjudged()] == (["other_form"] if judged == "other_form" else [])


def test_a_pair_counts_for_every_item_that_its_ids_stand_for() -> None:
    """Sides of two tasks, both locked: both items are in the pairs, though the finding names the first."""
    items = [{"id": "a", "prompt": "x"}, {"id": "b", "prompt": "y"}, {"id": "B", "prompt": "z"}]
    check, findings = checked([{"prompt": "p", "chosen_task_id": "a", "rejected_task_id": "b"}], items)
    assert [finding.locked.item for finding in findings] == [0]
    assert check.items_hit() == [(0, {"same_task": 1}), (1, {"same_task": 1})]
    assert [(one.item, one.task) for one in check.tasks.unjudged()] == [(2, "b")]


def test_items_that_nothing_is_looked_for_by_are_named_with_the_reason() -> None:
    items = [{"id": 1.5, "prompt": "x"}, {"id": True, "prompt": "y"}, {"id": " ", "prompt": "z"}, {"prompt": " "}, {"id": "h", "n": 3}]
    assert checked([], items)[0].not_looked_for() == [
        ("same_task", "it has no task id and no id", [2, 3]), ("same_task", "it has no task id, and its id is neither text nor an integer", [0, 1]),
        ("exact", "it has no text to look for", [3, 4]),
    ]
    left = ContaminationCheck([{"id": "17", "prompt": "x"}, {"id": "h", "task_id": "T", "prompt": "y"}], N, SHARE, left_out=["id", "task_id"])
    assert left.not_looked_for() == [("same_task", "its ids are left out as asked", [0, 1])]
    assert left.check([CheckedPair(0, "p", [], [("task_id", "17"), ("task_id", "T")])]) == [] and not left.tasks


def test_every_item_of_a_task_is_hit_by_it() -> None:
    items = [{"prompt": "x", "task_id": "t"}, {"prompt": "y", "task_id": "u"}, {"prompt": "z", "scenario_id": "t", "task_id": "t"}]
    check, findings = checked([{"prompt": "a", "task_id": "t"}, {"prompt": "y", "task_id": "t"}], items)
    assert [(finding.rule, finding.locked.item) for finding in findings] == [("same_task", 0), ("same_task", 0), ("exact", 1)]
    assert check.items_hit() == [(0, {"same_task": 2}), (1, {"prompt": 1}), (2, {"same_task": 2})]


@pytest.mark.parametrize(("row", "expected"), [
    ({"task_id": "a", "scenario_id": "b"}, ["a", "b"]), ({"rejected_task_id": "r"}, ["r"]), ({"meta": [{"x": {"scenario_id": "deep"}}]}, ["deep"]),
    ({"task_id": None, "scenario_id": "", "chosen": {"task_id": True}}, []), ({"my_task_id": "n", "task": "n"}, []),
])
def test_task_ids_wherever_a_row_keeps_them(row: dict[str, Any], expected: list[str]) -> None:
    assert [task for _, task in task_ids(row)] == expected


def test_a_share_with_many_digits_is_exact() -> None:
    # 8 of 10 words: at 0.8 a hit, and none at a share that is larger by 10^-30
    training, locked = "a b c d e f g h x y", "a b c d e f g h p q"
    assert [len(checked([{"prompt": training}], [{"prompt": locked}], share=SHARE + Fraction(k, 10**30))[1]) for k in (-1, 0, 1)] == [1, 1, 0]


def test_a_holdout_without_items_or_pairs_without_texts_hit_nothing() -> None:
    assert checked([{"prompt": ASK}], [])[1] == []
    assert checked([], [{"prompt": ASK}])[1] == [] and checked([{}], [{"prompt": ASK}])[1] == []
