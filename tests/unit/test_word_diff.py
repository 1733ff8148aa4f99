"""Word differences: the pieces joined are the texts, and what is marked is what differs."""
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.pairs.word_diff import WordDiff, differ_in_white_space_only, word_differences
from core.settings import SETTINGS

WORDS = st.lists(st.sampled_from(["set", "retries", "to", "3", ".", " ", "\n", "  ", "é", "-", "**", "\u202e"]), max_size=30).map("".join)


def joined(pieces: tuple[tuple[str, str], ...]) -> str:
    return "".join(text for _, text in pieces)


def test_one_changed_word_is_marked_on_both_sides() -> None:
    found = word_differences("Use a lock here.", "Use a mutex here.")
    assert found.chosen == (("same", "Use a "), ("added", "lock "), ("same", "here."))
    assert found.rejected == (("same", "Use a "), ("removed", "mutex "), ("same", "here."))
    assert (found.chosen_only, found.rejected_only, found.compared) == (1, 1, True)


def test_signs_numbers_and_negations_are_differences() -> None:
    assert word_differences("Set to -3", "Set to 3").chosen == (("same", "Set to "), ("added", "-"), ("same", "3"))
    assert ("removed", "30") in word_differences("Set to 3", "Set to 30").rejected


def test_white_space_is_a_difference() -> None:
    found = word_differences("a lock", "a  lock")
    assert found.chosen == (("added", "a "), ("same", "lock")) and found.rejected == (("removed", "a  "), ("same", "lock"))
    assert differ_in_white_space_only("a lock", " a\nlock ") and not differ_in_white_space_only("a", "a") and not differ_in_white_space_only("a", "b")


def test_equal_and_empty_texts_have_no_marks() -> None:
    assert word_differences("same", "same") == WordDiff((("same", "same"),), (("same", "same"),), compared=True)
    assert word_differences("", "new") == WordDiff((), (("removed", "new"),), compared=True)


def test_texts_that_are_too_long_are_shown_unmarked() -> None:
    limit = SETTINGS["display"]["compared_words"]
    long, other = "a b " * limit, "c d " * limit
    found = word_differences(long, other)
    assert not found.compared and (joined(found.chosen), joined(found.rejected)) == (long, other)
    # what is equal at both ends costs nothing, so a long pair with a short difference is compared
    assert word_differences(long + "x " + long, long + "y " + long).compared


@given(WORDS, WORDS)
def test_pieces_joined_are_the_texts_and_the_common_part_is_the_same(chosen: str, rejected: str) -> None:
    found = word_differences(chosen, rejected)
    assert (joined(found.chosen), joined(found.rejected)) == (chosen, rejected)
    kept = ["".join(text for kind, text in side if kind == "same") for side in (found.chosen, found.rejected)]
    assert kept[0] == kept[1]
    assert {kind for kind, _ in found.chosen} <= {"same", "added"} and {kind for kind, _ in found.rejected} <= {"same", "removed"}
