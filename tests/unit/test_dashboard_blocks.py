"""The vocabulary of sheets, the navigation, the words, the table of checks, and where a round stands: all without Streamlit's server."""
from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import get_args
from urllib.parse import parse_qs

import pytest
from support_desk import desk as new_desk

from core.gates.checks import Distance, State, fact_check, rate_check, value_check
from core.grid import default_grid
from core.schemas import REASONS
from core.settings import SETTINGS
from core.signing.status import round_status
from core.statistics.ratio import Ratio
from dashboard import blocks, check_table, navigation, standing, words


def test_hidden_characters_are_visible_in_every_kind_of_text() -> None:
    hostile = "a\u202eb\x1b\u200bc"
    shown = "a⟦U+202E⟧b␛⟦U+200B⟧c"
    made = [
        blocks.paragraph(hostile, blocks.strong(hostile), blocks.mono(hostile), blocks.badge(hostile, "ok", "check")), blocks.heading(hostile),
        blocks.bullets([hostile]), blocks.facts([(hostile, [hostile])]), blocks.notice("note", "off", [hostile]), blocks.model_text(hostile),
        blocks.prose(hostile), blocks.table("t", [blocks.column(hostile)], [blocks.row(blocks.cell(hostile))], label=hostile),
        blocks.paragraph(blocks.link(hostile, "judges"), blocks.digest(hostile), blocks.distance_bar(1, inside=True, label=hostile)),
    ]
    text = json.dumps(made, ensure_ascii=False)
    assert "\u202e" not in text and "\u200b" not in text and "\\u001b" not in text
    assert blocks.plain(made).count(shown) >= 9


def test_line_feeds_stay_in_model_text_and_are_marks_in_a_line() -> None:
    assert blocks.model_text("a\nb")["pieces"] == [{"c": "same", "t": "a\nb"}]
    assert blocks.text("a\nb")["t"] == "a␊b"


def test_markup_is_not_touched() -> None:
    assert blocks.text("**a** <b> ![x](http://y)")["t"] == "**a** <b> ![x](http://y)"


def test_a_sheet_is_plain_json_that_reads_back_the_same() -> None:
    made = [blocks.paragraph("a", blocks.link("b", "judges", judge="x")), blocks.table("t", [blocks.column("A", sort=True)], [], label="L")]
    assert json.loads(json.dumps(made)) == made


def test_long_text_folds_by_its_own_characters_and_loses_none() -> None:
    limit = SETTINGS["display"]["fold_characters"]
    assert limit == 1200
    short = blocks.model_text("x" * limit)
    assert (short["more"], short["rest"]) == (0, [])
    long = blocks.marked_text([("same", "\u202e" * 1199), ("added", "🙂🙂🙂"), ("removed", "z")])
    # 1199 + 1 of the second piece are shown; 2 + 1 are left
    assert [piece["t"] for piece in long["pieces"]] == ["⟦U+202E⟧" * 1199, "🙂"]
    assert [(piece["c"], piece["t"]) for piece in long["rest"]] == [("added", "🙂🙂"), ("removed", "z")] and long["more"] == 3


def test_a_preview_closes_up_white_space_and_says_that_more_follows() -> None:
    assert blocks.shortened_prose("a \n\n b", 10) == "a b"
    assert blocks.shortened_prose("abc defgh", 4) == "abc…"


def test_a_link_is_an_address_of_this_application() -> None:
    span = blocks.link("open", "judges", judge="a&b=c ?x", cell="fp")
    path, _, query = span["href"].partition("?")
    assert path == "judges" and parse_qs(query) == {"judge": ["a&b=c ?x"], "cell": ["fp"]}
    assert navigation.address("rounds", {}) == "?" and navigation.address("sign_off", {"round": "ab"}) == "sign-off?round=ab"


@pytest.mark.parametrize(("page", "view"), [("nowhere", {}), ("judges", {"reviewer_id": "ben"}), ("judges", {"person": "ben"})])
def test_a_link_names_known_pages_and_parts_of_a_view_only(page: str, view: dict[str, str]) -> None:
    with pytest.raises(KeyError):
        blocks.link("x", page, **view)


def test_nothing_in_the_url_says_who_sits_there() -> None:
    assert not {"reviewer_id", "reviewer", "person", "you_are", "user", "who"} & set(navigation.VIEW_KEYS)


def test_pages_are_in_the_order_of_the_work() -> None:
    assert [page.key for page in navigation.PAGES] == [
        "rounds", "overview", "judges", "curation", "rejected", "leakage", "sample", "holdout", "sign_off", "ledger",
    ]
    assert len({page.path for page in navigation.PAGES}) == len(navigation.PAGES)


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (12, "12"), (1234567, "1,234,567"), (-3, "−3"), (-1234, "−1,234")])
def test_counts_have_separators_and_a_true_minus(value: int, text: str) -> None:
    assert words.count(value) == text


@pytest.mark.parametrize(("value", "text"), [(12, "+12"), (0, "0"), (-3, "−3")])
def test_changes_carry_their_sign(value: int, text: str) -> None:
    assert words.signed(value) == text


def test_numbers_and_nouns_agree() -> None:
    assert [words.plural(n, "pair") for n in (0, 1, 2)] == ["0 pairs", "1 pair", "2 pairs"]


def test_shares_and_fractions_as_the_specification_writes_them() -> None:
    assert words.share(22, 320) == "6.88 %" and words.share(0, 0) == "no cases"
    assert words.fraction({"numerator": 1, "denominator": 16, "undefined": None}) == "1 of 16, 6.25 %"
    assert words.fraction({"numerator": 0, "denominator": 0, "undefined": "no verifier failures"}) == "undefined: no verifier failures"
    assert words.exact({"numerator": -1, "denominator": 5, "undefined": None}) == "−0.2"
    assert words.decimal(-0.2) == "−0.2" and words.decimal(None) == "not defined" and words.decimal(2.6249, 2) == "2.62"


def test_every_state_and_reason_has_a_word_and_an_icon() -> None:
    assert set(words.CHECK_STATES) == set(get_args(State)) and set(words.STATE_ORDER) == set(get_args(State))
    assert set(words.REASON_TITLES) == set(REASONS)
    script = (Path(blocks.__file__).parent / "static" / "sheet.js").read_text("utf-8")
    for icon in {icon for _, _, icon in words.CHECK_STATES.values()} | {icon for icon, _ in words.PAGE_STATES.values()}:
        assert f"  {icon}: [" in script, icon


def test_times_are_shown_to_the_minute_with_their_zone() -> None:
    assert words.short_time("2026-11-10T09:00:00Z") == "2026-11-10 09:00 UTC" and words.short_time(None) == "not stated"
    assert words.day("2026-11-10T09:00:00Z") == "2026-11-10" and words.day(None) == "no date"


def test_names_keep_their_capital_inside_a_sentence() -> None:
    assert words.in_sentence("cohens_kappa") == "Cohen's kappa" and words.in_sentence("exact_agreement") == "exact agreement"


@pytest.mark.parametrize(("observed", "counted", "figure"), [
    ("13 of 120, 10.83 %", "13 of 120", ("10", "83", "%")), ("0 of 8, 0 %", "0 of 8", ("0", "", "%")),
    ("−0.0686 nats/token", "", ("−0", "0686", "nats/token")), ("1,234 of 5,678, 21.73 %", "1,234 of 5,678", ("21", "73", "%")),
    ("0.75", "", ("0", "75", "")), ("120 of 120 items in both arms", "120 of 120 items in both arms", None),
    ("no registration", "no registration", None), ("551296812c08", "551296812c08", None),
    ("undefined: the verifier failed nothing", "undefined: the verifier failed nothing", None), ("proposed by a, b", "proposed by a, b", None),
])
def test_what_was_counted_and_the_figure_after_it(observed: str, counted: str, figure: tuple[str, str, str] | None) -> None:
    assert check_table.split_figure(observed) == (counted, figure)


def test_figures_of_one_unit_are_padded_to_one_decimal_point() -> None:
    spans = check_table.aligned([("10", "83", "%"), ("0", "", "%"), None, ("−0", "0686", "nats/token"), ("0", "75", ""), ("1", "", "")])
    assert [span[0]["t"] if span else None for span in spans] == ["10.83", "0\u2008\u2007\u2007", None, "−0.0686", "0.75", "1\u2008\u2007\u2007"]
    assert [span[1]["t"] if span[1:] else None for span in spans] == [" %", " %", None, " nats/token", None, None]


GRID = default_grid()
REGRESSIONS = rate_check(
    "regressions", Ratio(13, 120), GRID, "max_regression_rate", page="holdout", detail="d", unit="items",
    remedy="At most {limit} of {n} (now {now}).",
).as_dict()
DRIFT = value_check(
    "no_collapsed_pair", Ratio(-686, 10000), GRID, "min_chosen_logp_drift_per_token", page="curation", detail="d", unit="nats/token", remedy="r",
).as_dict()
LOCK = fact_check("holdout_lock", True, observed="ab", bound="the registered digest", page="holdout", detail="d", remedy="r").as_dict()


def test_failing_checks_come_first() -> None:
    assert [check["name"] for check in check_table.in_order([LOCK, DRIFT, REGRESSIONS])] == ["regressions", "holdout_lock", "no_collapsed_pair"]


def test_the_bar_is_the_distance_as_a_share_of_the_bound() -> None:
    # 0.0314 of 0.1; 13/120 - 1/20 = 7/120 of 6/120, cut off at 1
    assert check_table.bar_share(DRIFT) == pytest.approx(0.314)
    assert check_table.bar_share(REGRESSIONS) == 1
    exactly = Distance(Fraction(0), True, "exactly on the bound").as_dict()
    on_the_bound = DRIFT | {"distance": exactly, "bound": {"value": 0.0, "text": "", "key": None}}
    assert check_table.bar_share(on_the_bound) == 0
    too_large = DRIFT | {"distance": exactly | {"value": None}}
    assert check_table.bar_share(too_large) == 1


def test_only_failing_checks_ask_for_something() -> None:
    assert check_table.remedies([LOCK, DRIFT, REGRESSIONS]) == ["At most 6 of 120 (now 13)."]


def test_where_a_round_stands_for_whoever_sits_there(tmp_path: Path) -> None:
    desk = new_desk(tmp_path)
    source = desk.round()
    document = desk.assess(source).document

    def stand(person: str | None, stale: str | None = None) -> standing.Standing:
        status = round_status(desk.ledger.read(), source.digest, registry=desk.registry)
        return standing.standing(source.manifest, document, status, person, desk.registry, stale)

    assert (stand(None).kind, stand(None).awaits) == ("not_proposed", False)
    desk.propose(source)
    assert stand("ben@example.org").awaits and not stand(None).awaits
    for own in ("worker-curator-01", "curator-a", "Worker-Curator-01", "worker-curator-01+x"):
        assert "nobody approves their own round" in str(stand(own).next_step) and not stand(own).awaits
    assert "not enrolled" in str(stand("stranger").next_step)
    assert stand("ben@example.org", "The grid changed.").kind == "stale"
    desk.sign(desk.prepare(source))
    done = stand("ben@example.org")
    assert (done.word, done.kind, done.awaits) == ("approved", "done", False) and "worker-verifier-02" in done.sentence
    assert standing.standing(source.manifest, document, None, None, None).kind == "broken"
