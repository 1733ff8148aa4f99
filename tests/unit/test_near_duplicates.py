"""Near-duplicates: the oracle's signatures, exact clusters against a plain second implementation, and the report of a round."""
from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.contamination import jaccard as plain_jaccard
from support_pairs import oracle
from support_rounds import NOW, folder_of, pair, workspace_at

from core.cli.main import run
from core.errors import RoundError
from core.gates import near_duplicates as report_module
from core.gates.near_duplicates import near_duplicates_of
from core.grid import default_grid
from core.pairs import near_duplicates as clusters_module
from core.pairs.minhash import PRIME, Suspects, base_hash, candidate_probability, jaccard, permutations, shingles, signatures
from core.pairs.near_duplicates import TextSets
from core.pairs.words import words
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace
from core.schemas import CLUSTERS

ORACLE = oracle("near_duplicates")
PARAMETERS = np.array(ORACLE["permutations_a_b"], dtype=np.int64)
SHARE = Fraction(4, 5)


def signature(text: str, parameters: np.ndarray = PARAMETERS) -> list[int]:
    hashes = np.array([base_hash(one) for one in shingles(words(text), 3)], dtype=np.int64)
    return signatures(hashes, np.array([0]), parameters)[0].tolist()


# the oracle


@pytest.mark.parametrize("case", ORACLE["cases"], ids=lambda case: case["id"])
def test_the_oracle(case: dict[str, Any]) -> None:
    (one, other), expected = case["inputs"].values(), case["expected"]
    assert (len(shingles(words(one), 3)), len(shingles(words(other), 3))) == (expected["shingles_a"], expected["shingles_b"])
    assert len(set(shingles(words(one), 3)) & set(shingles(words(other), 3))) == expected["shared"]
    similarity = jaccard(one, other, 3)
    assert similarity == Fraction(expected["jaccard"]) == plain_jaccard(one, other, 3)
    assert float(similarity) == pytest.approx(expected["value"], abs=1e-12)
    first, second = signature(one), signature(other)
    assert first == expected["signature_a"] and second == expected["signature_b"]
    assert Fraction(sum(a == b for a, b in zip(first, second, strict=True)), 16) == Fraction(expected["signature_agreement"])


@pytest.mark.parametrize("case", ORACLE["banding_cases"], ids=lambda case: str(case["inputs"]))
def test_the_banding_probability(case: dict[str, Any]) -> None:
    inputs, expected = case["inputs"], case["expected"]
    found = candidate_probability(Fraction(inputs["jaccard"]), inputs["rows_per_band"], inputs["bands"])
    assert found == pytest.approx(expected["candidate_probability"], abs=1e-12)
    # the half-way point of the curve is near (1/b)^(1/r): no formula of ours, a check of the curve
    half = (1 / inputs["bands"]) ** (1 / inputs["rows_per_band"])
    assert half == pytest.approx(expected["half_point_approximation"], abs=1e-12)


@pytest.mark.parametrize("case", ORACLE["estimator_standard_error"], ids=str)
def test_the_standard_error_of_the_estimate_is_seen_in_our_permutations(case: dict[str, Any]) -> None:
    """sqrt(J(1-J)/k): the agreement of signatures scatters around J by about that much, over 60 pairs of texts with the stated J."""
    similarity, k, error = Fraction(case["jaccard"]), case["permutations"], case["standard_error"]
    assert error == pytest.approx(float(similarity * (1 - similarity) / k) ** 0.5, abs=1e-12)
    found = []
    for trial in range(60):
        # single words as shingles: 40 common ones of 50 or of 80
        common, alone = 40, round((40 / float(similarity) - 40) / 2)
        sides = [[f"c{trial}-{n}" for n in range(common)] + [f"{side}{trial}-{n}" for n in range(alone)] for side in "ab"]
        hashes = [np.array([base_hash(one) for one in side], dtype=np.int64) for side in sides]
        one, other = (signatures(side, np.array([0]), permutations()[:k])[0] for side in hashes)
        found.append(float((one == other).mean()) - float(similarity))
    # the mean of 60 scatters by error/sqrt(60); four of them is a bound that a wrong estimator breaks
    assert abs(float(np.mean(found))) < 4 * error / 60 ** 0.5
    assert 0.6 * error < float(np.std(found)) < 1.5 * error


def test_permutations_are_permutations_and_fit_64_bits() -> None:
    parameters = permutations()
    assert parameters.shape == (128, 2) and len({tuple(row) for row in parameters.tolist()}) == 128
    assert parameters[:, 0].min() >= 1 and parameters.min() >= 0 and parameters.max() < PRIME == 2**31 - 1
    # the largest product there can be, in Python integers and in 64 bits
    largest = np.array([PRIME - 1], dtype=np.int64)
    for a, b in [(PRIME - 1, PRIME - 1), *parameters[:4].tolist()]:
        assert signatures(largest, np.array([0]), np.array([[a, b]], dtype=np.int64)).item() == ((PRIME - 1) * a + b) % PRIME


@given(st.integers(0, 2**31 - 2), st.integers(1, 2**31 - 2), st.integers(0, 2**31 - 2))
def test_one_permutation_in_whole_numbers(x: int, a: int, b: int) -> None:
    assert signatures(np.array([x]), np.array([0]), np.array([[a, b]])).item() == (a * x + b) % (2**31 - 1)


# exactness


def collision() -> tuple[str, str]:
    """Two words with one base hash: 2^31 values, so some 60,000 words hold one by the birthday bound."""
    seen: dict[int, str] = {}
    for number in range(400_000):
        word = f"w{number}"
        other = seen.setdefault(base_hash(word), word)
        if other != word:
            return other, word
    raise AssertionError("no collision among 400,000 words")


def test_shingles_with_one_hash_are_suspects_and_no_near_duplicates() -> None:
    one, other = collision()
    assert base_hash(one) == base_hash(other) and one != other
    suspects = Suspects(1)
    suspects.add([[one], [other], ["else"]])
    assert suspects.marked().tolist() == [True, True, False]
    sets = TextSets(1)
    for text in (one, other):
        sets.add([text])
    assert sets.clusters(SHARE).root.tolist() == [0, 1]


def plain_clusters(texts: list[str], n: int, share: Fraction) -> list[int]:
    root = list(range(len(texts)))

    def find(place: int) -> int:
        while root[place] != place:
            place = root[place]
        return place

    for one in range(len(texts)):
        for other in range(one):
            if plain_jaccard(texts[one], texts[other], n) >= share:
                low, high = sorted((find(one), find(other)))
                root[high] = low
    return [find(place) for place in range(len(texts))]


SMALL = st.lists(st.sampled_from(["a", "b", "c", "请", "да"]), min_size=1, max_size=12).map(" ".join)


@settings(max_examples=300)
@given(st.lists(SMALL, min_size=1, max_size=14), st.integers(1, 4),
       st.sampled_from([Fraction(1, 10), Fraction(1, 2), SHARE, SHARE + Fraction(1, 10**30), Fraction(1)]))
def test_clusters_are_those_of_all_pairs_compared(texts: list[str], n: int, share: Fraction) -> None:
    sets = TextSets(n)
    for text in texts:
        sets.add(words(text))
    found = sets.clusters(share)
    assert found.root.tolist() == plain_clusters(texts, n, share)
    assert found.cut == 0


@settings(max_examples=60)
@given(st.lists(SMALL, min_size=2, max_size=10), st.randoms(use_true_random=False))
def test_texts_that_reach_the_bound_are_suspects_in_any_order_and_batches(texts: list[str], random: Any) -> None:
    """At a similarity of 4/5 a pair is missed with probability 5e-8: none here, where equal and nearly equal texts abound."""
    order = list(range(len(texts)))
    random.shuffle(order)
    whole, cut = Suspects(3), Suspects(3)
    whole.add(words(text) for text in texts)
    for place in order:
        cut.add([words(texts[place])])
    marked = whole.marked().tolist()
    assert [marked[place] for place in order] == cut.marked().tolist()
    roots = plain_clusters(texts, 3, SHARE)
    assert all(marked[place] for place in range(len(texts)) if roots.count(roots[place]) > 1)


def test_many_texts_of_one_template_are_not_compared_with_each_other() -> None:
    # 24 words, two slots: two texts share 16 of their 22 shingles, 16/28 = 4/7 < 4/5, and no rare one
    template = "the customer {} asks about order {} and wants to know when it will arrive at the door of the house or the shop"
    sets = TextSets(3)
    for place in range(500):
        sets.add(words(template.format(f"name{place}", place)))
    found = sets.clusters(SHARE)
    assert found.members() == [] and found.compared == 0 and found.cut == 0


def test_what_is_left_out_where_too_many_share_a_rare_shingle_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters_module, "_MOST", 2)
    sets = TextSets(1)
    for place in range(8):
        sets.add(["rare", *(f"w{place}-{number}" for number in range(3))])
    # at 1/4 all four words of a text are looked up, the shared one too: 7 texts before the last, and two are compared
    found = sets.clusters(Fraction(1, 4))
    assert found.cut > 0 and found.compared < 8 * 7 / 2 and found.members() == []


def test_an_outsider_compared_with_a_part_of_a_large_cluster_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    # five texts of one cluster (6 of 8 words shared), then one that shares their rare word only (1 of 13): it is compared with two of them
    monkeypatch.setattr(clusters_module, "_MOST", 2)
    sets = TextSets(1)
    for place in range(5):
        sets.add(["rare", "a", "b", "c", "d", "e", f"own{place}"])
    sets.add(["rare", *(f"w{number}" for number in range(6))])
    found = sets.clusters(Fraction(1, 7))
    assert found.root.tolist() == [0, 0, 0, 0, 0, 5] and found.cut > 0


def test_equal_texts_are_kept_once_and_texts_beyond_the_memory_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    # room for 16 numbers: two texts of seven words and the mark behind each; the equal ones need no room, the last has none
    monkeypatch.setattr(clusters_module, "_WORDS_MOST", 16)
    sets = TextSets(2)
    for text in ("a b c d e f g", "h i j k l m n", "a b c d e f g", "a b c d e f x", "h i j k l m n"):
        sets.add(text.split())
    found = sets.clusters(SHARE)
    assert found.root.tolist() == [0, 1, 0, 3, 1] and sets.left_out == 1


def test_how_far_the_comparison_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters_module, "_AT_ONCE", 3)
    sets, seen = TextSets(2), list[tuple[int, int]]()
    for place in range(10):
        sets.add(f"one text and another {place % 5} of some words {place}".split())
    sets.clusters(Fraction(1, 10), lambda done, total: seen.append((done, total)))
    assert seen and all(0 < done <= total for done, total in seen) and seen == sorted(seen)


# empty texts


def test_two_empty_texts_are_an_error_and_not_alike() -> None:
    for one, other in (("", ""), ("...", "!?"), ("", "word"), ("word", " ")):
        with pytest.raises(RoundError, match="empty_text"):
            jaccard(one, other, 3)
    assert jaccard("word", "WORD!", 3) == 1


# a round


def stored(place: Path, rows: list[dict[str, Any]]) -> tuple[Workspace, Round]:
    workspace = workspace_at(place)
    return workspace, workspace.round(ingest(folder_of(place / "input", {"pairs": rows}), workspace, now=NOW).digest)


ASK = "Please cancel order A1002 and refund the card that was used for it"


def rows() -> list[dict[str, Any]]:
    system = {"role": "system", "content": "You are a support agent for a small shop and must follow the written policy at all times."}
    return [
        pair(pair_id="b", prompt=f"{ASK} today", chosen="Yes, at once."), pair(pair_id="a", prompt=f"{ASK.upper()} today!", chosen="Done."),
        pair(pair_id="c", prompt=f"{ASK} today now", chosen="No."),                       # 12 of 13 shingles
        pair(pair_id="d", prompt=f"{ASK.replace('card', 'account')} today", chosen="Why?"),   # 9 of 15 with a and b
        pair(pair_id="e", prompt="Name the capital of Chile", chosen="Santiago"),
        *(pair(pair_id=name, chosen=[{"role": "assistant", "content": name}], rejected=[{"role": "assistant", "content": "x"}],
               prompt=[system, {"role": "user", "content": ask}]) for name, ask in (("f", "Where is it?"), ("g", "Who are you?"))),
        pair(pair_id="h", prompt="???", chosen="What?"),
    ]


def test_the_report_of_a_round(tmp_path: Path) -> None:
    workspace, source = stored(tmp_path, rows())
    report = near_duplicates_of(workspace, source, default_grid())
    document = report.document
    assert document["texts"]["compared"] == 7 and document["texts"]["without_words"] == 1 and document["texts"]["in_clusters"] == 3
    # a chat's system turn is left out: f and g share nothing but that
    (cluster,) = document["listed"]
    assert (cluster["size"], cluster["different_texts"], cluster["pair_ids"], cluster["jaccard"]) == (3, 3, ["a", "b", "c"], "1/1")
    assert (document["clusters"], document["largest"], document["sizes"]) == (1, 3, [{"size": 3, "clusters": 1}])
    assert document["method"]["chance_to_miss_at_the_bound"] == "4.7e-08"       # (1 - 0.8^4)^32 = 0.5904^32 = 4.7e-8
    table = pq.read_table(report.clusters_path)
    assert table.schema.equals(CLUSTERS)
    assert list(zip(table["pair_id"].to_pylist(), table["ordinal"].to_pylist(), table["cluster"].to_pylist(), strict=True)) == [
        ("a", 1, 0), ("b", 0, 0), ("c", 2, 0),
    ]


def test_the_order_of_the_rows_changes_nothing(tmp_path: Path) -> None:
    found = []
    for place, order in (("one", rows()), ("two", rows()[::-1])):
        workspace, source = stored(tmp_path / place, order)
        document = near_duplicates_of(workspace, source, default_grid()).document
        found.append({key: value for key, value in document.items() if key != "round_digest"})
    assert found[0] == found[1]


def test_a_round_without_clusters_and_other_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, source = stored(tmp_path, rows())
    report = near_duplicates_of(workspace, source, default_grid(), "chosen")
    assert report.document["clusters"] == 0 and report.document["listed"] == [] and pq.read_table(report.clusters_path).num_rows == 0
    rejected = near_duplicates_of(workspace, source, default_grid(), "rejected").document
    assert (rejected["clusters"], rejected["largest"], rejected["listed"][0]["different_texts"]) == (2, 6, 1)    # six "No." and two "x"
    monkeypatch.setattr(report_module, "find_near_duplicates", None)
    assert near_duplicates_of(workspace, source, default_grid(), "chosen").document == report.document
    with pytest.raises(RoundError, match="unknown_field"):
        near_duplicates_of(workspace, source, default_grid(), "answer")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workspace, _ = stored(tmp_path, rows())
    assert run(["similar", "round-07", "--workspace", str(workspace.root)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("3 of 7 prompt texts are near-duplicates, in 1 cluster; the largest has 3.\n")
    assert f"a: {ASK.upper()} today!" in printed and "Not compared: 1 text without words." in printed
    assert run(["similar", "round-07", "--workspace", str(workspace.root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["largest"] == 3
    assert run(["similar", "round-07", "--field", "nothing", "--workspace", str(workspace.root)]) == 4
