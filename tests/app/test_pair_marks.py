"""Dispute and seen in the browser of pairs: bound to the pair's id, said on the screen, kept per person, shown at Sign-off."""
from __future__ import annotations

from collections.abc import Callable

from streamlit.testing.v1 import AppTest
from support_desk import Desk
from support_sheets import ROOT, open_page, said, sheets, table

from core.sampling.marks import Marked, Marks

Sitting = Callable[[AppTest, str], AppTest]
DPO = "smollm2-dpo-only"
BEN = "ben@example.org"


def rejected(**view: str) -> AppTest:
    at = open_page("rejected.py", round=DPO, **view)
    assert not at.exception
    return at


def stored(desk: Desk, person: str = BEN) -> Marked:
    return Marks(desk.workspace, desk.workspace.round(DPO).digest, person).read()


def press(at: AppTest, key: str) -> AppTest:
    at = at.button(key=key).click().run()
    assert not at.exception
    return at


def test_nobody_marks_before_saying_who_they_are(own: Desk) -> None:
    at = rejected()
    assert at.button(key="dispute_pair").disabled and at.button(key="see_pair").disabled
    assert "Say who you are in the side bar" in said(at, "marks")


def test_the_third_pair_is_disputed_whatever_the_list_does_then(own: Desk, sitting: Sitting) -> None:
    """Case 29: a filter, another order and another list change the position of a pair, never which one is disputed."""
    third = [row[0] for row in table(rejected(), "pairs")][2]
    at = press(sitting(rejected(pair=third), BEN), "dispute_pair")
    assert f"you are disputing {third}" in said(at, "marks") and stored(own).disputed == (third,)
    for view in ({"order": "rank"}, {"reason": "logp_collapse"}, {"search": "verb"}):
        at = sitting(rejected(pair=third, **view), BEN)
        assert f"you are disputing {third}" in said(at, "marks") or "is not in this view" in said(at, "dropped")
        assert stored(own).disputed == (third,)
    # a pair that is not in the view is not open: a click marks the one that is shown, and says which
    at = sitting(rejected(pair=third, reason="invalid_record"), BEN)
    shown = table(at, "pairs")[0][0]
    at = press(at, "dispute_pair")
    assert f"you are disputing {shown}" in said(at, "marks") and stored(own).disputed == (third, shown)


def test_two_tabs_mark_what_each_of_them_shows(own: Desk, sitting: Sitting) -> None:
    first, second = (row[0] for row in table(rejected(), "pairs")[:2])
    one, two = sitting(rejected(pair=first), BEN), sitting(rejected(pair=second), BEN)
    press(two, "dispute_pair")
    press(one, "see_pair")
    assert stored(own) == Marked((first,), (second,))


def test_a_dispute_is_withdrawn_and_the_list_says_what_is_marked(own: Desk, sitting: Sitting) -> None:
    at = sitting(rejected(), BEN)
    name = table(at, "pairs")[0][0]
    at = press(press(at, "dispute_pair"), "see_pair")
    assert table(at, "pairs")[0][0].split() == [name, "disputed,", "seen"] and at.button(key="see_pair").disabled
    at = press(at, "undispute_pair")
    assert "you are disputing" not in said(at, "marks") and stored(own) == Marked((name,), ())
    assert "you marked 1 pair as seen and dispute 0" in said(at, "marks")


def test_marks_are_of_one_person(own: Desk, sitting: Sitting) -> None:
    press(sitting(rejected(), BEN), "dispute_pair")
    at = sitting(rejected(), "eva@example.org")
    assert "you are disputing" not in said(at, "marks") and "dispute_pair" in {button.key for button in at.button}


def test_a_broken_file_of_marks_is_named(own: Desk, sitting: Sitting) -> None:
    marks = Marks(own.workspace, own.workspace.round(DPO).digest, BEN)
    marks.file.parent.mkdir(parents=True)
    marks.file.write_bytes(b"{}\n")
    at = sitting(rejected(), BEN)
    assert not at.exception and "a mark that this engine wrote" in said(at, "error-marks") and "restore the file" in said(at, "error-marks")


def sign_off(person: str) -> AppTest:
    # the address of this page is not its file's name: AppTest knows it after a first run
    at = open_page("rounds.py", round=DPO)
    at.selectbox(key="you_are").set_value(person)
    at = at.switch_page(str(ROOT / "pages" / "sign_off.py")).run()
    assert not at.exception
    return at


def test_sign_off_names_the_disputed_pairs_and_takes_them_into_the_comment(own: Desk, sitting: Sitting) -> None:
    at = sitting(rejected(), BEN)
    name = table(at, "pairs")[0][0]
    press(at, "dispute_pair")
    at = sign_off(BEN)
    assert "You dispute 1 pair" in said(at, "section-disputed") and f"{name} (rejected)" in said(at, "section-disputed")
    at.text_area[0].set_value("Too short a run.").run()
    at = press(at, "dispute_comment")
    assert at.text_area[0].value == f"Too short a run.\nDisputed pairs: {name}."
    assert at.button(key="dispute_comment").disabled
    assert "Nothing." in said(sign_off("eva@example.org"), "section-disputed")


def test_the_blind_sample_does_not_show_marks(own: Desk, sitting: Sitting) -> None:
    at = sitting(open_page("sample.py", round=DPO), BEN)
    assert "marks" not in sheets(at)
