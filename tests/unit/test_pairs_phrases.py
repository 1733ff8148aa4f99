"""Phrases as whole words, whatever the apostrophe, case and white space: against a search written another way."""
from __future__ import annotations

import json
import unicodedata
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.pairs.phrases import APOSTROPHES, PHRASE_TABLE_PATH, Marker, load_phrases, phrase_hint, phrase_pattern, phrase_table
from core.pairs.style import covered, cut_off, phrases_in, spoken

TABLE = phrase_table()
PHRASES = ("it depends", "i'm sorry", "certainly!", "sorry", "can")
MARKER = Marker("m", "m", PHRASES, phrase_hint(PHRASES), phrase_pattern(PHRASES))


def has(text: str) -> bool:
    return bool(phrases_in(pa.array([text]), MARKER)[0][0])


HYPHENS = "-\u2010\u2011"
JOINERS = f"'_{HYPHENS}"


def letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"


def joined(run: str, beyond: str) -> bool:
    """Whether signs between a phrase and the character beyond them make one word of the two: two hyphens are a dash."""
    dash = any(one in HYPHENS and other in HYPHENS for one, other in pairwise(run))
    return bool(beyond) and letter(beyond) and not dash


def plainly(text: str) -> bool:
    """Character by character: the phrase at some place, no letter beside it, nothing that joins it to one."""
    folded = ["'" if character in APOSTROPHES else character.lower() for character in text]
    for start in range(len(folded)):
        before = "".join(folded[:start])
        bare = before.rstrip(JOINERS)
        if joined(before[len(bare):], bare[-1:]):
            continue
        for phrase in PHRASES:
            end = matched(folded, start, phrase)
            if end is not None and free_behind(folded, end, phrase):
                return True
    return False


def matched(folded: list[str], start: int, phrase: str) -> int | None:
    place = start
    for character in phrase:
        if character == " ":
            run = place
            while run < len(folded) and folded[run].isspace():
                run += 1
            if run == place:
                return None
            place = run
        elif place < len(folded) and folded[place] == character:
            place += 1
        else:
            return None
    return place


def free_behind(folded: list[str], end: int, phrase: str) -> bool:
    if not phrase[-1].isalnum():
        return True
    rest = "".join(folded[end:])
    bare = rest.lstrip(JOINERS)
    return not joined(rest[:len(rest) - len(bare)], bare[:1])


PIECES = ["it", "depends", "i'm", "i’m", "sorry", "certainly!", "can", "'", "’t", " ", "\n", "\u00a0", ".", "é", "_", "-", "\u2011", "x", "日"]


@given(st.lists(st.sampled_from(PIECES), max_size=7).map("".join))
def test_as_a_search_letter_by_letter(text: str) -> None:
    assert has(text) == plainly(text), text


@pytest.mark.parametrize("text", [
    "It depends.", "‘it depends’", '"it  depends"', "so it\ndepends, really", "IT\u00a0DEPENDS", "I’m sorry", "iʼm sorry", "Certainly!yes",
    # emphasis of Markdown, dashes, lists, and the apostrophes that fonts and keyboards have
    "_It depends_ on it", "__Sorry__", "**_sorry_**", "well--sorry", "sorry--not", "well \u2014sorry\u2014", "- sorry", "sorry-", "x \u2013sorry",
    "I\u2032m sorry", "I\u201bm sorry", "\uff07sorry\uff07",
])
def test_found(text: str) -> None:
    assert has(text)


@pytest.mark.parametrize("text", [
    "independentit depends", "it dependsx", "it depends’s", "itdepends", "I can't", "I can’t", "toucan", "can_do", "can5", "uncertainly!", "",
    # one word of several, with each kind of hyphen, and names in code
    "a can-do spirit", "a sorry-looking dog", "toil-and-can\u2010opener", "ever\u2011sorry", "is_sorry", "sorry_no", "__can__do", "can't-do",
])
def test_not_found(text: str) -> None:
    assert not has(text)


def test_the_table_is_what_it_says() -> None:
    again = load_phrases(PHRASE_TABLE_PATH)
    assert again == TABLE and (TABLE.version, TABLE.language) == (1, "en")
    for marker in TABLE.markers:
        assert len(set(marker.phrases)) == len(marker.phrases) and all(phrase == " ".join(phrase.lower().split()) for phrase in marker.phrases)
        # each phrase is found as itself, inside a sentence, and in capitals with a curly apostrophe; counted under a name of the table
        texts = [text for phrase in marker.phrases for text in (phrase, f"Well, {phrase} then.", phrase.replace("'", "’").upper())]
        mask, found = phrases_in(pa.array(texts), marker)
        assert mask.all() and sum(found.values()) == len(texts) and set(found) <= set(marker.phrases)


def test_the_longer_phrase_at_one_place_is_counted() -> None:
    boilerplate = next(marker for marker in TABLE.markers if marker.name == "boilerplate")
    texts = pa.array(["If you have any other questions, ask.", "As an AI, as an artificial intelligence, I hope this helps!"])
    assert phrases_in(texts, boilerplate)[1] == {"if you have any other questions": 1, "as an ai": 1}


@pytest.mark.parametrize(("text", "known"), [
    ("ok", True), ("", True), ("Это зависит от многого", False), ("場合によります", False), ("Use the word 日本 here", True), ("42 + 1", True),
    # twenty words of French without an English one; nineteen are too few to tell
    ("je ne sais pas si cela va marcher mais on peut essayer encore une fois demain matin avec lui ici", False),
    ("je ne sais pas si cela va marcher mais on peut essayer encore une fois demain matin avec lui", True),
])
def test_what_the_table_can_be_about(text: str, known: bool) -> None:
    assert covered(pa.array([text]), TABLE).tolist() == [known]


@pytest.mark.parametrize(("text", "reason", "cut"), [
    ("x" * 200, None, True), ("x" * 199, None, False), ("x" * 199 + ".", None, False), ("x" * 199 + ",", None, True), ("x" * 300 + " \n", None, True),
    ("x" * 300 + "。", None, False), ("日" * 200, None, True), ("x" * 300, "stop", False), ("short", "length", True), ("done.", "max_tokens", True),
])
def test_cut_off(text: str, reason: str | None, cut: bool) -> None:
    assert cut_off(pa.array([text]), pa.array([reason], type=pa.string()), TABLE).tolist() == [cut]


def test_only_what_the_assistant_wrote_counts() -> None:
    said = [("assistant", "One."), ("user", "I am sorry"), ("assistant", None), ("assistant", "Two.")]
    turns = json.dumps([{"role": role, "content": content} for role, content in said])
    texts, messages = pa.array(["plain", "assistant\nOne.\nuser\nI am sorry\n"]), pa.array([None, turns], type=pa.string())
    assert spoken(texts, messages).to_pylist() == ["plain", "One.\n\nTwo."]
