"""Words that mix scripts are found; words of one script, whatever it is, are not."""
from __future__ import annotations

import pytest

from core.pairs.scripts import mixed_script_words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("p\u0430ypal and paypal", ["p\u0430ypal"]),                     # Cyrillic a
        ("\u0391pple \u0391pple", ["\u0391pple"]),                      # Greek Alpha, named once
        ("\u043f\u0440\u0438\u0432\u0435\u0442 world, na\u00efve caf\u00e9", []),
        ("\u6f22\u5b57kanji \u03bb-calculus x\u00b2", []),                 # other scripts are not taken for Latin; a hyphen ends a word
        ("plain ASCII", []), ("", []),
    ],
)
def test_mixed_script_words(text: str, found: list[str]) -> None:
    assert mixed_script_words(text) == found
