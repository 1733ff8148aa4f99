"""Ids: what is the same person, and what is no id at all (rules: spec, identity)."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import EXIT, IdentityError
from core.persons.identity import canonical_id, person_key


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("worker-curator-01", "worker-curator-01"),
        ("ana@example.org", "ana@example.org"),
        ("ANA@Example.ORG", "ana@example.org"),
        ("  ana@example.org\t\n", "ana@example.org"),
        ("\u3000ana@example.org\u00a0", "ana@example.org"),        # ideographic and no-break space
        ("ana@example.org.", "ana@example.org"),                   # one trailing dot of the domain
        ("ａｎａ＠ｅｘａｍｐｌｅ．ｏｒｇ", "ana@example.org"),          # full-width
        ("\u212aelvin", "kelvin"),                                  # Kelvin sign
        ("stra\u00dfe", "strasse"),                                 # sharp s folds to ss
        ("ﬁona", "fiona"),                                          # ligature
        ("a_b.c-d+e", "a_b.c-d+e"),
        ("0", "0"),
    ],
)
def test_canonical_form(written: str, canonical: str) -> None:
    assert canonical_id(written) == canonical


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "id_not_text"), (7, "id_not_text"), (True, "id_not_text"), (["ana"], "id_not_text"), (b"ana", "id_not_text"),
        ("", "id_empty"), (" \t\u3000", "id_empty"),
        ("a" * 257, "id_too_long"),
        ("an\u200ba", "id_hidden_character"),            # zero-width space
        ("ana\u200d", "id_hidden_character"),            # zero-width joiner
        ("\ufeffana", "id_hidden_character"),            # byte-order mark
        ("\u202eana", "id_hidden_character"),            # right-to-left override
        ("a\u2066na", "id_hidden_character"),            # isolate
        ("a\x00na", "id_hidden_character"), ("a\x1bna", "id_hidden_character"),
        ("a\ue000na", "id_hidden_character"),            # private use
        ("a\u0378na", "id_hidden_character"),            # unassigned
        ("a\ud800na", "id_hidden_character"),            # lone surrogate
        ("a\u00adna", "id_hidden_character"),            # soft hyphen
        ("\u0430na", "id_grammar"),                      # Cyrillic a
        ("an\u03b1", "id_grammar"),                      # Greek alpha
        ("Ana <ana@example.org>", "id_grammar"), ('"Ana" ana@example.org', "id_grammar"), ("ana example", "id_grammar"),
        ("ana@", "id_grammar"), ("@example.org", "id_grammar"), ("ana@@example.org", "id_grammar"), ("a@b@c", "id_grammar"),
        ("ana@example..org", "id_grammar"), ("ana@.org", "id_grammar"), ("ana@example.org..", "id_grammar"), ("ana@exa_mple.org", "id_grammar"),
        ("ana.", "id_grammar"), ("ana.@example.org", "id_grammar"), (".ana", "id_grammar"), ("+ana", "id_grammar"), ("-ana", "id_grammar"),
        ("ana/../x", "id_grammar"), ("ana\nben", "id_hidden_character"), ("anné", "id_grammar"), ("\u0130", "id_grammar"),
    ],
)
def test_refused(value: object, code: str) -> None:
    with pytest.raises(IdentityError) as caught:
        canonical_id(value)
    assert caught.value.code == code
    assert caught.value.exit_code == EXIT["not_authorised"] == 5


def test_a_refusal_shows_hidden_characters_as_marks() -> None:
    with pytest.raises(IdentityError) as caught:
        canonical_id("an\u202ea")
    assert "\u202e" not in str(caught.value)
    assert "U+202E" in str(caught.value)


@pytest.mark.parametrize(
    "other",
    ["ana@example.org", "ANA@EXAMPLE.ORG", " ana@example.org ", "ana@example.org.", "ana+review@example.org", "ana+a+b@example.org",
     "ａｎａ@example.org", "Ana+@example.org"],
)
def test_same_person_key(other: str) -> None:
    assert person_key(other) == "ana@example.org"


def test_plus_tag_needs_an_id_before_it() -> None:
    with pytest.raises(IdentityError) as caught:
        person_key("ana.+x@example.org")        # "ana." ends in a dot
    assert caught.value.code == "id_grammar"


def test_aliases_are_looked_up_after_the_plus_tag() -> None:
    aliases = {"curator-a": "ana@example.org"}
    assert person_key("Curator-A+night", aliases) == "ana@example.org"
    assert person_key("curator-b", aliases) == "curator-b"


@pytest.mark.parametrize("other", ["anna@example.org", "ana@example.com", "ana", "ana-example.org", "a.na@example.org"])
def test_a_similar_name_is_another_person(other: str) -> None:
    assert person_key(other) != person_key("ana@example.org")


@given(st.text(max_size=40))
def test_canonical_form_is_a_fixed_point_and_ascii(text: str) -> None:
    try:
        once = canonical_id(text)
    except IdentityError:
        return
    assert once.isascii() and canonical_id(once) == once and canonical_id(once.upper()) == once
