"""Pairs that a declared cut-off makes equal: what is proved, what is estimated, what is neither. Arithmetic by hand in the comments.

A token is a word with the space before it in most texts here, as a byte-level tokenizer would have it; token counts are counted by hand.
"""
from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.pairs.cutoff import Answers, CutOff, Equal, answers_of, equal_under, shared_characters
from core.pairs.cutoff_batch import CutCount
from core.schemas import PAIRS, TEXT

HEAD = " ".join(f"token{number}" for number in range(1100))
"""1,100 words. Letters and digits: 10 * 6 + 90 * 7 + 900 * 8 + 100 * 9 = 60 + 630 + 7,200 + 900 = 8,790; with 1,099 spaces 9,889."""


def answers(chosen: str, rejected: str, chosen_tokens: int, rejected_tokens: int, prompt: str = "", given: str = "text") -> Answers:
    return Answers(len(prompt), chosen, rejected, chosen_tokens, rejected_tokens, len(chosen) + len(rejected), given)


def cut(length: int, counts: str = "completion_tokens", keeps: str = "start") -> CutOff:
    return CutOff(length, counts, keeps)


def basis(cutoff: CutOff, pair: Answers) -> str | None:
    found = equal_under(cutoff, pair)
    return None if found is None else found.basis


LATE = answers(f"{HEAD} yes", f"{HEAD} no", 1101, 1101)


def test_the_known_case_shares_1100_tokens_and_differs_after_them() -> None:
    """Both share HEAD and the space behind it: 9,890 characters. Behind the last shared word stand " yes" (4 bytes) and " no" (3), so
    at least 1,101 - 1 - 4 = 1,096 and 1,101 - 1 - 3 = 1,097 tokens are common: the better bound counts."""
    assert len(HEAD) == 9889
    assert equal_under(cut(1024), LATE) == Equal(
        "proved", 9890, 1097, (Fraction(1101 * 9890, 9893), Fraction(1101 * 9890, 9892)), None, False)


@pytest.mark.parametrize(("length", "found"), [
    (1, "proved"), (1096, "proved"), (1097, "proved"),
    # 1,101 * 9,890 / 9,893 = 1,100.67 and 1,101 * 9,890 / 9,892 = 1,100.78 tokens in common
    (1098, "estimated"), (1100, "estimated"),
    # nothing is cut of 1,101 tokens
    (1101, None), (1102, None),
])
def test_the_bound_is_inclusive_and_what_is_as_long_as_the_cut_is_not_cut(length: int, found: str | None) -> None:
    """With T tokens kept and the first difference at token T + 1 = 1,101 the two are equal: T = 1,100 is."""
    assert basis(cut(length), LATE) == found


def test_a_shorter_side_that_ends_at_the_cut_is_equal_and_one_that_ends_before_it_is_not() -> None:
    """Rejected is the first 4 words of chosen. Cut to 4 tokens both are those words: by estimate, 6 * 23 / 31 = 4.45 and 4 * 23 / 23 = 4
    tokens are common. Cut to 5, chosen keeps a word more."""
    pair = answers("alpha bravo gamma delta foo bar", "alpha bravo gamma delta", 6, 4)
    assert (basis(cut(4), pair), basis(cut(5), pair), basis(cut(6), pair)) == ("estimated", None, None)
    # 4 * 12 / 12 = 4 tokens of the whole in common, and the text is not as long: 3 tokens are not 4 kept ones
    assert basis(cut(4), answers("alpha bravo gamma delta foo bar", "alpha bravo gamma", 6, 3)) is None


def test_a_tail_too_long_to_prove_is_estimated() -> None:
    """1,100 common words, then 300 other words of 9 characters each ("tail00001" and the like with a space: 10 bytes). Proof: 1,400 - 1 -
    3,000 bytes is below 0. Estimate: 9,890 common characters ("tail" and "rest" differ in their first letter) of 9,889 + 3,000 = 12,889:
    1,400 * 9,890 / 12,889 = 1,074.25."""
    one = HEAD + "".join(f" tail{number:05d}" for number in range(300))
    other = HEAD + "".join(f" rest{number:05d}" for number in range(300))
    pair = answers(one, other, 1400, 1400)
    assert [basis(cut(length), pair) for length in (1024, 1074, 1075)] == ["estimated", "estimated", None]
    found = equal_under(cut(1024), pair)
    assert found is not None and (found.shared, found.at_least, found.estimates) == (9890, 0, (Fraction(1400 * 9890, 12889),) * 2)


def test_both_answers_have_to_say_that_the_cut_lies_in_what_they_share() -> None:
    """10 common characters. Chosen: 20 characters, 10 tokens: 5 of them common. Rejected: 20 characters, 16 tokens: 8."""
    pair = answers("abcdefghij" + "k" * 10, "abcdefghij" + "l" * 10, 10, 16)
    assert [basis(cut(length), pair) for length in (5, 6, 8)] == ["estimated", None, None]


def test_a_cut_deeper_than_the_common_bytes_is_never_equal_whatever_the_rate_says() -> None:
    """3 common characters of 4 are 3 bytes: 4 tokens reach beyond them, though 8 * 3 / 4 = 6 are estimated (a count that no byte-level
    tokenizer gives: 8 tokens for 4 bytes)."""
    pair = answers("abcx", "abcy", 8, 8)
    assert [basis(cut(length), pair) for length in (3, 4, 6)] == ["estimated", None, None]


def test_chinese_is_proved_by_bytes_where_words_end_and_estimated_where_none_does() -> None:
    """40 characters of 3 bytes, a token each, a space (a token), then 2 other characters (a token each): 43 tokens. Behind the last word
    that ends in white space stand " " and 6 bytes: 43 - 1 - 7 = 35 tokens. Estimate: 43 * 41 / 43 = 41."""
    head = "重试次数必须设置为三次并且记录所有错误信息以便日后检查系统运行状态是否正常稳定可靠" [:40]
    assert len(head) == 40
    pair = answers(f"{head} 对了", f"{head} 错了", 43, 43)
    assert [basis(cut(length), pair) for length in (35, 36, 41, 42)] == ["proved", "estimated", "estimated", None]
    # without white space any of the common characters may be joined to what follows: 42 * 40 / 42 = 40 by estimate
    close = answers(f"{head}对了", f"{head}错了", 42, 42)
    assert [basis(cut(length), close) for length in (10, 40, 41)] == ["estimated", "estimated", None]


def test_an_emoji_that_begins_like_another_shares_its_first_bytes_and_no_character() -> None:
    """U+1F600 and U+1F601 share three of four bytes. "go " + emoji: common are 3 characters and 3 + 3 = 6 bytes, so a cut of 6 tokens (one
    a byte) cannot be told apart for certain, a cut of 7 can; 7 tokens * 3 / 4 = 5.25 are estimated."""
    pair = answers("go \U0001f600", "go \U0001f601", 7, 7)
    assert [basis(cut(length), pair) for length in (5, 6)] == ["estimated", None]
    # 7 tokens of 7 bytes, an end token among them or not: 7 - 1 - 5 bytes (" " and the emoji) = 1 is proved
    assert [basis(cut(length), pair) for length in (1, 2)] == ["proved", "estimated"]


def test_a_combining_mark_is_never_taken_for_the_end_of_a_word() -> None:
    """"caf" + "e" against "caf" + "e" + U+0301: a normalizing tokenizer sees é in one. Common are "We met at cafe" (14 characters); the last
    word that ends in white space ends before " cafe", so behind it stand 5 and 7 bytes and the rest.
    chosen "We met at cafe now ok": 21 bytes, 7 tokens (c-afe split): 7 - 1 - (21 - 9) < 0; nothing is proved with 7 tokens."""
    pair = answers("We met at cafe now ok", "We met at cafe\u0301 now ok", 7, 7)
    assert basis(cut(1), pair) == "estimated"
    # with a token a byte: 21 - 1 - 12 = 8 and 23 - 1 - 14 = 8 are proved, 9 bytes ("We met at") are the most that could be
    dense = answers("We met at cafe now ok", "We met at cafe\u0301 now ok", 21, 23)
    assert [basis(cut(length), dense) for length in (8, 9)] == ["proved", "estimated"]


@pytest.mark.parametrize("mark", ["(", "\u0301", "\u3002", "-"])
def test_white_space_behind_a_mark_is_no_end_of_a_word(mark: str) -> None:
    """A tokenizer may join a mark to the line feed behind it. "ab" + mark + LF, then a letter: no word ends in white space at all."""
    chosen, rejected = f"ab{mark}\nx", f"ab{mark}\ny"
    found = equal_under(cut(1), answers(chosen, rejected, len(chosen.encode()), len(rejected.encode())))
    assert found is not None and (found.basis, found.at_least) == ("estimated", 0)


def test_characters_are_exact_from_either_end() -> None:
    """"The lock is held." against "The lock is free.": 12 characters in common at the start, and the last one, the full stop."""
    pair = answers("The lock is held.", "The lock is free.", 5, 5)
    assert [basis(cut(length, "completion_characters"), pair) for length in (12, 13, 17)] == ["exact", None, None]
    assert [basis(cut(length, "completion_characters", "end"), pair) for length in (1, 2)] == ["exact", None]
    # one that is as long as the cut is not cut
    assert basis(cut(3, "completion_characters"), answers("abcd", "abc", 1, 1)) == "exact"
    assert basis(cut(4, "completion_characters"), answers("abcd", "abc", 1, 1)) is None
    # characters are code points: two of four bytes each are two
    assert basis(cut(2, "completion_characters"), answers("\U0001f600\U0001f600a", "\U0001f600\U0001f600b", 9, 9)) == "exact"


def test_keeping_the_end_looks_at_what_answers_end_with() -> None:
    """"yes" and "no" before HEAD: 9,890 characters in common at the end, from the space on. The first word that ends in white space inside
    them is token0, so behind it lie "yes token0" (10 bytes) and "no token0" (9): 1,101 - 1 - 9 = 1,091 is the better bound."""
    pair = answers(f"yes {HEAD}", f"no {HEAD}", 1101, 1101)
    found = equal_under(cut(1024, keeps="end"), pair)
    assert found is not None and (found.basis, found.shared, found.at_least) == ("proved", 9890, 1091)
    assert [basis(cut(length, keeps="end"), pair) for length in (1091, 1092, 1100, 1101)] == ["proved", "estimated", "estimated", None]
    # the start differs, so keeping it never makes these equal; and a prompt takes no room at the end
    assert basis(cut(10), pair) is None
    long = answers(pair.chosen, pair.rejected, 1101, 1101, prompt="word " * 5000)
    assert basis(cut(1091, "sequence_tokens", "end"), long) == "proved"


def test_a_prompt_takes_room_by_the_answers_own_rate() -> None:
    """Answers of 20 characters and 10 tokens each: 0.5 tokens a character. A prompt of 12 characters takes 6. 8 characters in common are
    10 * 8 / 20 = 4 tokens. Cut to 10: 4 are left, equal; to 11: 5 are left, they differ; to 16 = 6 + 10: nothing is cut."""
    pair = answers("a" * 8 + "b" * 12, "a" * 8 + "c" * 12, 10, 10, prompt="p" * 12)
    assert [basis(cut(length, "sequence_tokens"), pair) for length in (10, 11, 16, 17)] == ["estimated", None, None, None]
    found = equal_under(cut(10, "sequence_tokens"), pair)
    assert found is not None and (found.prompt_tokens, found.nothing_left) == (Fraction(6), False)
    # cut to 6 the prompt fills it, and to 5 as well
    filled = Equal("estimated", 8, 0, (Fraction(4),) * 2, Fraction(6), True)
    assert all(equal_under(cut(length, "sequence_tokens"), pair) == filled for length in (5, 6))


def test_a_proof_holds_for_every_prompt() -> None:
    assert basis(cut(1097, "sequence_tokens"), answers(LATE.chosen, LATE.rejected, 1101, 1101, prompt="Which?")) == "proved"


def test_of_messages_nothing_is_proved_by_tokens() -> None:
    def row(chosen: list[dict[str, str]], rejected: list[dict[str, str]]) -> dict[str, Any]:
        return {"prompt": "user\nWhich?\n", "chosen": "assistant\n...\n", "rejected": "assistant\n...\n",
                "chosen_messages": json.dumps(chosen), "rejected_messages": json.dumps(rejected)}

    say = [[{"role": "assistant", "content": content}] for content in (LATE.chosen, LATE.rejected)]
    plain = answers_of(row(*say), 1101, 1101, prompt=12)
    assert (plain.given, plain.chosen) == ("message", LATE.chosen)
    assert (basis(cut(1024), plain), basis(cut(9890, "completion_characters"), plain)) == ("estimated", "exact")
    other = [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
    two = answers_of(row(other, [{"role": "assistant", "content": "c"}]), 5, 5, prompt=12)
    assert (two.given, two.chosen) == ("flattened", "assistant\n...\n")


def test_more_tokens_than_bytes_allow_prove_nothing() -> None:
    """"a a" has 3 bytes: 4 tokens may be, an end token among them; a fifth stands for no text, and then how many more do, nobody knows.
    With 4 and 4 the word "a" ends before " a" and "  ", 2 bytes: 4 - 1 - 2 = 1 token is proved."""
    assert [basis(cut(1), answers("a a", "a  ", chosen, 4)) for chosen in (4, 5)] == ["proved", "estimated"]
    # and what the bytes contradict is never equal: the third byte differs
    assert basis(cut(3), answers("a a", "a  ", 3, 6)) is None


def test_answers_that_are_the_same_uncut_or_have_nothing_are_no_matter_of_a_cut_off() -> None:
    assert basis(cut(1), answers("same", "same", 4, 4)) is None
    assert basis(cut(1), answers("", "x", 1, 1)) is None and basis(cut(1), answers("ab", "ac", 0, 5)) is None


@pytest.mark.parametrize(("one", "other", "keeps", "shared"), [
    ("", "a", "start", 0), ("abc", "abd", "start", 2), ("abc", "abc", "start", 3), ("abc", "ab", "start", 2), ("xbc", "abc", "end", 2),
    ("bc", "abc", "end", 2), ("a" * 1000 + "b", "a" * 1000 + "c", "start", 1000),
])
def test_what_texts_share(one: str, other: str, keeps: str, shared: int) -> None:
    assert shared_characters(one, other, keeps) == shared_characters(other, one, keeps) == shared


LETTERS = st.text(alphabet="ab é重\U0001f600", min_size=1, max_size=14)
CUTS = st.builds(CutOff, st.integers(1, 20), st.sampled_from(["completion_tokens", "sequence_tokens", "completion_characters"]),
                 st.sampled_from(["start", "end"]))


@settings(max_examples=400, deadline=None)
@given(CUTS, st.lists(st.tuples(LETTERS, LETTERS, LETTERS, LETTERS, st.integers(1, 20), st.integers(1, 20),
                                    st.sampled_from([1, 1, 20])), min_size=1, max_size=12))
def test_the_columns_find_what_one_pair_at_a_time_finds(cutoff: CutOff, rows: list[tuple[str, str, str, str, int, int, int]]) -> None:
    """The vectorised route against :func:`equal_under` on every pair, and the cuts against their definition in fractions."""
    built = [
        (prompt, head * times + one, head * times + other, first, second) if cutoff.keeps == "start" else
        (prompt, one + head * times, other + head * times, first, second) for prompt, head, one, other, first, second, times in rows
    ]
    pairs = [Answers(len(prompt), one, other, first, second, len(one) + len(other)) for prompt, one, other, first, second in built]
    count = CutCount(cutoff)
    for start in range(0, len(rows), 5):
        part = list(enumerate(built[start:start + 5], start=start))
        narrow = pa.RecordBatch.from_pylist([
            {"ordinal": place, "pair_id": f"p-{place}", "origin": "verified", "chosen_token_count": row[3], "rejected_token_count": row[4]}
            for place, row in part], schema=PAIRS)
        text = pa.RecordBatch.from_pylist(
            [{"ordinal": place, "prompt": row[0], "chosen": row[1], "rejected": row[2]} for place, row in part], schema=TEXT)
        count.add(narrow, text, np.ones(len(part), dtype=np.bool_))
    certain, more, equal = count.among(np.arange(len(rows)))
    expected = {place: found for place, pair in enumerate(pairs) if (found := equal_under(cutoff, pair)) is not None}
    assert {item.ordinal: item.found for item in equal} == expected
    for side in ("chosen", "rejected"):
        lengths = [len(getattr(pair, side)) if cutoff.counts == "completion_characters" else getattr(pair, f"{side}_tokens") for pair in pairs]
        prompts = [pair.prompt_tokens if cutoff.prompt_counts else 0 for pair in pairs]
        assert certain[side] == sum(length > cutoff.length for length in lengths)
        assert certain[side] + more[side] == sum(length + prompt > cutoff.length for length, prompt in zip(lengths, prompts, strict=True))


def test_only_the_pairs_at_the_asked_positions_are_counted() -> None:
    narrow = pa.RecordBatch.from_pylist([
        {"ordinal": place, "pair_id": f"p-{place}", "origin": "verified", "chosen_token_count": 1101, "rejected_token_count": 1101}
        for place in range(3)], schema=PAIRS)
    text = pa.RecordBatch.from_pylist(
        [{"ordinal": place, "prompt": "", "chosen": LATE.chosen, "rejected": LATE.rejected} for place in range(3)], schema=TEXT)
    count = CutCount(cut(1024))
    count.add(narrow, text, np.array([True, False, True]))
    certain, more, equal = count.among(np.array([1]))
    assert (certain, more, [item.pair_id for item in equal]) == ({"chosen": 1, "rejected": 1}, {"chosen": 0, "rejected": 0}, ["p-2"])


def test_the_sign_at_the_bound_is_exact_where_doubles_cannot_tell() -> None:
    """2^53 - 1 tokens are cut at that length or not: one token of a prompt decides, far below what doubles of these products hold."""
    most = 2**53 - 1
    pair = {"ordinal": 0, "pair_id": "p", "origin": "verified", "chosen_token_count": most, "rejected_token_count": most}
    for prompt, found in (("", 0), ("x", 1)):
        text = {"ordinal": 0, "prompt": prompt, "chosen": "ab", "rejected": "ac"}
        count = CutCount(cut(most, "sequence_tokens"))
        count.add(pa.RecordBatch.from_pylist([pair], schema=PAIRS), pa.RecordBatch.from_pylist([text], schema=TEXT), np.array([True]))
        certain, more, _ = count.among(np.array([0]))
        assert (certain["chosen"], more["chosen"]) == (0, found)
