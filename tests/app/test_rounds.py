"""The Rounds page: what awaits whom, the list with its figures, and the upload of a bundle."""
from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from support_desk import Desk, bundle
from support_rounds import bundle as worked_example
from support_sheets import links, open_page, said, sheets, table

Sitting = Callable[[AppTest, str], AppTest]


def rounds() -> AppTest:
    return open_page("rounds.py")


def listed(at: AppTest) -> dict[str, list[str]]:
    """The rows of the list by round id (the first word of the first cell)."""
    return {row[0].split()[0]: row for row in table(at, "section-all")}


def test_it_opens_on_what_awaits_a_reviewer(pages: Desk, sitting: Sitting) -> None:
    at = rounds()
    assert not at.exception
    # two are proposed and open: ifeval-4o and smollm2-dpo-only
    assert said(at, "headline-rounds").startswith("2 rounds await a reviewer\n") and "Say who you are" in said(at, "headline-rounds")
    # and the entry by which the same pairs were rejected before
    assert set(links(at, "waiting")) == {"ifeval-4o", "smollm2-dpo-only", "ledger entry 5"}
    at = sitting(at, "ben@example.org")
    assert said(at, "headline-rounds").startswith("2 rounds await you\n")
    waiting = said(at, "waiting")
    assert "ifeval-4o Promote proposed by worker-curator-01, 2026-11-17 composite, for demonstration" in waiting
    assert "smollm2-dpo-only Refuse proposed by worker-curator-01, 2026-11-10" in waiting


def test_nobody_is_asked_to_review_their_own_round(pages: Desk, sitting: Sitting) -> None:
    at = sitting(rounds(), "worker-curator-01")
    assert said(at, "headline-rounds") == "No round awaits you"
    assert "waiting" not in sheets(at)


def test_every_round_newest_first_with_its_figures(pages: Desk) -> None:
    rows = listed(rounds())
    assert list(rows) == ["ifeval-4o", "ifeval-qwen", "smollm2-dpo-only", "smollm2-rpo", "judges", "worked-example"]
    # columns: round, proposed, state, engine, kappa, admitted, net gain, regressions, signer
    assert rows["ifeval-4o"][2:] == ["proposed", "Promote", "0.9051", "377", "+20 of 504, +3.97 %", "20 of 504, 3.97 %", ""]
    assert rows["ifeval-qwen"][2:] == ["not proposed", "Refuse", "0.9051", "377", "+82 of 501, +16.37 %", "27 of 501, 5.39 %", ""]
    assert rows["smollm2-dpo-only"][2:] == ["refused", "Refuse", "0.7506", "12", "−10 of 120, −8.33 %", "13 of 120, 10.83 %", ""]
    assert rows["smollm2-rpo"][2:4] == ["rejected by reviewer", "Refuse"] and rows["smollm2-rpo"][-1] == "ben@example.org"
    assert rows["judges"][2:] == ["not proposed", "Refuse", "9 judges", "no pairs", "no outcomes", "no outcomes", ""]
    assert rows["worked-example"][2:] == ["approved", "Promote", "0.75", "2", "+1 of 5, +20 %", "0 of 5, 0 %", "worker-verifier-02"]
    assert rows["ifeval-4o"][1] == "2026-11-17 worker-curator-01"


def test_composite_rounds_say_so_in_the_list(pages: Desk) -> None:
    rows = next(block for block in sheets(rounds())["section-all"] if block["k"] == "table")["rows"]
    below = {row["cells"][0]["spans"][0]["t"]: " ".join(span.get("t", "") for span in row["detail"]) for row in rows}
    assert [name for name, said in below.items() if said.startswith("composite, for demonstration")] == ["ifeval-4o", "ifeval-qwen"]


def test_a_small_trend_for_each_figure_with_its_words(pages: Desk) -> None:
    columns = next(block for block in sheets(rounds())["section-all"] if block["k"] == "table")["columns"]
    trends = {column["label"]: column["under"][0] for column in columns if column["under"]}
    assert set(trends) == {"Kappa", "Admitted", "Net gain", "Regressions"}
    # admitted, oldest first: 2, none (judges), 377, 12, 377, 377; scaled by (377 - 2)
    assert trends["Admitted"]["points"] == [0, None, 1, 10 / 375, 1, 1]
    assert trends["Admitted"]["label"] == "Admitted over 5 rounds, oldest first: from 2 to 377"


def test_a_round_is_a_link_to_its_overview(pages: Desk) -> None:
    digest = pages.workspace.round("ifeval-4o").digest
    assert links(rounds(), "section-all")["ifeval-4o"] == ("overview", {"round": digest[:12]})


def test_what_was_rejected_before_is_said_with_its_comment(own: Desk) -> None:
    # smollm2-rpo was rejected; the ifeval rounds train on the same pairs
    text = said(rounds(), "waiting")
    assert "rejected before by ben@example.org : Seven items lost, and three canaries." in text


def upload(at: AppTest, data: bytes, name: str = "round-08.json", round_id: str = "") -> AppTest:
    at.file_uploader(key="bundle").upload(name, data).run()
    if round_id:
        at.text_input(key="bundle_round_id").set_value(round_id).run()
    return at.button(key="ingest").click().run()


def test_a_bundle_is_uploaded_and_listed(empty: Desk) -> None:
    at = rounds()
    assert "No round yet" in said(at) and at.button(key="ingest").disabled
    at = upload(at, bundle())
    assert not at.exception
    text = said(at, "uploaded")
    # 8 + 6 judge records, 4 + 1 pairs, 5 items, 2 x 5 outcomes, 4 canaries
    assert "round-08 was ingested; nothing was dropped" in text and "5 pairs" in text and "14 judge records" in text and "0 rows quarantined" in text
    assert links(at, "uploaded")["open it"][0] == "overview"
    assert list(listed(at)) == ["round-08"]


def test_a_second_click_ingests_nothing_twice(empty: Desk) -> None:
    at = upload(rounds(), bundle())
    at = at.button(key="ingest").click().run()
    assert "was in the workspace already" in said(at, "uploaded")
    assert len(list(empty.workspace.rounds_dir.iterdir())) == 1


def test_the_round_id_can_be_typed(empty: Desk) -> None:
    assert list(listed(upload(rounds(), bundle(), round_id="my-round"))) == ["my-round"]


def edited(**changes: Any) -> bytes:
    document = worked_example()
    document["verified_candidates"][1] |= changes
    return json.dumps(document).encode()


@pytest.mark.parametrize(("data", "code", "place"), [
    (edited(ref_logp_chosen="n/a"), "wrong_type", "verified_candidates[1].ref_logp_chosen"),
    (bundle().replace(b"-4.2", b"NaN", 1), "non_finite_number", "verified_candidates[0].policy_logp_chosen"),
    (bundle()[:-40], "not_json", "round-08.json"),
    (b"\xef\xbb\xbf" + bundle(), "byte_order_mark", "round-08.json"),
    (bundle(proposer_id=...), "missing_field", "proposer_id"),
    (b'{"a": 1, "a": 2}', "duplicate_json_key", "round-08.json"),
])
def test_a_broken_bundle_says_place_and_remedy_and_writes_nothing(empty: Desk, data: bytes, code: str, place: str) -> None:
    at = upload(rounds(), data)
    assert not at.exception
    text = said(at, "error-upload")
    assert place in text and code in text and "To do" in text and "expected" in text
    assert not list(empty.workspace.rounds_dir.iterdir())


def test_the_name_of_an_uploaded_file_is_no_path(empty: Desk) -> None:
    before = set(empty.workspace.root.parent.rglob("*"))
    at = upload(rounds(), bundle(), name="../../../escaped.json")
    assert not at.exception
    assert list(listed(at)) == ["escaped"]
    assert not [path for path in empty.workspace.root.parent.rglob("*escaped*") if path not in before]


def test_a_file_name_with_hidden_characters_asks_for_an_id(empty: Desk) -> None:
    at = upload(rounds(), bundle(), name="\u202egnp.json")
    assert not at.exception
    text = said(at, "error-upload")
    assert "bad_round_id" in text and "\u202e" not in text
    assert not list(empty.workspace.rounds_dir.iterdir())


