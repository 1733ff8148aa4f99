"""The curator over whole rounds: worked example, counts that reconcile, files, and independence of order and batches."""
from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rfc8785
from support_pairs import Pairs, pair, worked_example

from core.gates.curation import Curation, IterativeRpoPairCurator
from core.grid import Grid, default_grid, grid_from_document
from core.pairs import settle
from core.pairs.objective import round_half_even
from core.schemas import SCORED

CALIBRATED = {"calibrated": (True, None)}


def curate(source: Pairs, destination: Path | None = None, gates: dict | None = None, grid: Grid | None = None, quarantined: int = 0) -> Curation:
    curator = IterativeRpoPairCurator(grid or default_grid())
    return curator.curate(source, quarantined=quarantined, gates=CALIBRATED if gates is None else gates, destination=destination)


def grid_with(**values: Any) -> Grid:
    document = json.loads(default_grid().canonical)
    for key, value in values.items():
        document["keys"][key]["value"] = value
    return grid_from_document(document)


def test_worked_example(tmp_path: Path) -> None:
    found = curate(Pairs(worked_example()), tmp_path)
    assert found.admitted_pair_ids == ("pair-synth-calibrated-1", "pair-rpo-clean-1")
    assert found.counts == {"in": 5, "admitted": 2, "rejected": 3, "held": 0, "quarantined": 0}
    assert {reason: count for reason, count in found.primary_reasons.items() if count} == {"length_bias": 1, "logp_collapse": 1, "duplicate": 1}
    # (0.93 + 0.92) / 2, and (0.732574443 + 0.755413849) / 2 in nano-nats
    assert (found.mean_margin, found.mean_loss) == (Fraction(37, 40), Fraction(732574443 + 755413849, 2 * 10**9))
    assert round_half_even(found.mean_loss, 6) == 0.743994
    # drifts of the two: 0.3 / 12 and 0.4 / 10
    assert (found.lowest_admitted_drift, found.lowest_admitted_drift_pair) == (Fraction(1, 40), "pair-synth-calibrated-1")
    assert (found.collapsed, found.judged) == (1, 5)
    # the trap: margin 0.1 * (-8.5 + 26.5) = 1.8, the highest of the round, and drift -8.5 / 9
    assert (found.trap.pairs, found.trap_positive, found.trap.margin, found.trap.drift) == (1, 1, pytest.approx(1.8), pytest.approx(-8.5 / 9))
    rows = pq.read_table(tmp_path / "scored.parquet").to_pylist()
    duplicate = next(row for row in rows if row["pair_id"] == "pair-skeleton-dup")
    assert (duplicate["reasons"], duplicate["duplicate_of_skeleton"], duplicate["duplicate_of_prompt"], duplicate["duplicate_of_joint"]) == (
        ["duplicate"], "pair-rpo-clean-1", None, None,
    )


def test_worked_example_with_a_closed_gate() -> None:
    found = curate(Pairs(worked_example()), gates={"calibrated": (False, "cohens_kappa")})
    assert found.counts == {"in": 5, "admitted": 1, "rejected": 3, "held": 1, "quarantined": 0}
    assert [held.as_dict() for held in found.held_by] == [{"judge_id": "calibrated", "check": "cohens_kappa", "pairs": 1}]
    assert (found.synthetic["calibrated"].valid, found.synthetic["calibrated"].passed_on) == (1, 0)
    # the held pair is no longer judged
    assert (found.collapsed, found.judged) == (1, 4)


def rows_of_all_kinds() -> list[dict[str, Any]]:
    """Every state and every reason, with duplicates, ties, shared ids and a loss beyond 64 bits."""
    rng, rows = random.Random(11), []
    for number in range(60):
        chosen = -20.0 + rng.choice([-6, -2.2, -2, 0.5, 1.7])
        rows.append(pair(
            f"p{number:02d}", prompt=f"Ask {number % 40}", chosen=f"Answer **{number % 37}**", policy_logp_chosen=chosen,
            rejected_token_count=rng.choice([20, 20, 11, 60]), chosen_verified_pass=rng.choice([True, True, True, None]),
        ))
    for number in range(12):
        judge = ["open", "closed", None, "stranger"][number % 4]
        changed = {"prompt": ""} if number > 9 else {"policy_logp_chosen": -30.0} if number > 7 else {}
        rows.append(pair(f"s{number:02d}", origin="synthetic", judge_id=judge, chosen_verified_pass=None, rejected_tombstone_fail=None) | changed)
    huge = dict.fromkeys(("policy_logp_chosen", "ref_logp_chosen", "policy_logp_rejected"), -1e+300)
    return [*rows, pair("twice"), pair("twice", prompt="Other"), pair("huge", **huge, ref_logp_rejected=0.0), pair("nan", ref_logp_chosen=math.nan)]


GATES = {"open": (True, None), "closed": (False, "cohens_kappa")}


def test_every_row_ends_in_one_place_and_all_counts_agree_with_the_rows(tmp_path: Path) -> None:
    rows = rows_of_all_kinds()
    found = curate(Pairs(rows, size=7), tmp_path, GATES, quarantined=3)
    scored = pq.read_table(tmp_path / "scored.parquet")
    assert scored.schema == SCORED
    written = scored.to_pylist()
    assert [row["ordinal"] for row in written] == list(range(len(rows)))
    states = [row["state"] for row in written]
    assert found.counts == {"in": len(rows) + 3, "quarantined": 3} | {state: states.count(state) for state in ("admitted", "rejected", "held")}
    assert found.counts["in"] == sum(found.counts[name] for name in ("admitted", "rejected", "held", "quarantined"))
    for counts, state in ((found.all_reasons, "rejected"), (found.held_reasons, "held")):
        assert counts == {reason: sum(row["state"] == state and reason in row["reasons"] for row in written) for reason in counts}
    assert found.primary_reasons == {reason: sum(row["primary_reason"] == reason for row in written) for reason in found.primary_reasons}
    assert min(found.primary_reasons.values()) > 0, "the rows show every reason"
    assert sum(found.primary_reasons.values()) == found.counts["rejected"]
    assert all(row["primary_reason"] == (row["reasons"][0] if row["state"] == "rejected" else None) for row in written)
    assert found.all_sub_codes == {code: sum(code in row["sub_codes"] for row in written) for code in found.all_sub_codes}
    assert [(held.judge_id, held.check, held.pairs) for held in found.held_by] == [
        ("closed", "cohens_kappa", 3), ("stranger", "unknown_judge", 2), (None, "no_judge", 2),
    ]
    assert [(judge, counts.total, counts.invalid, counts.held, counts.passed_on) for judge, counts in found.synthetic.items()] == [
        ("closed", 3, 0, 3, 0), ("open", 3, 0, 0, 3), ("stranger", 3, 1, 2, 0), (None, 3, 1, 2, 0),
    ]


def admitted_rows(folder: Path) -> list[dict[str, Any]]:
    rows = (row for row in pq.read_table(folder / "scored.parquet").to_pylist() if row["state"] == "admitted")
    return sorted(rows, key=lambda row: row["rank"])


def test_admitted_pairs_are_written_in_rank_order_as_canonical_json(tmp_path: Path) -> None:
    rows = [*rows_of_all_kinds(), pair('quote"\\\n\u2028', policy_logp_chosen=-19.0), pair("\U0001f600", policy_logp_chosen=-19.5)]
    found = curate(Pairs(rows), tmp_path, GATES)
    ranked = admitted_rows(tmp_path)
    assert [row["rank"] for row in ranked] == list(range(found.admitted))
    assert [row["pair_id"] for row in ranked] == list(found.admitted_pair_ids)
    # the loss of "huge" does not fit 64 bits, and still ranks as the integer it is; ties go by id
    losses = [(int(row["loss_quanta_text"] or row["loss_quanta"]), row["pair_id"].encode()) for row in ranked]
    assert losses == sorted(losses)
    assert losses[-1][1] == b"huge"
    expected = [{"pair_id": row["pair_id"], "joint_transition_pair_sha256": row["joint_transition_pair_sha256"]} for row in ranked]
    assert (tmp_path / "admitted_pairs.json").read_bytes() == rfc8785.dumps(expected)


def test_means_are_exact_over_the_admitted_rows(tmp_path: Path) -> None:
    rows = rows_of_all_kinds()
    found = curate(Pairs(rows), tmp_path, GATES)
    by_id = {row["pair_id"]: row for row in rows}
    margins, drifts, losses = [], [], []
    for row in admitted_rows(tmp_path):
        pc, rc, pr, rr = (Fraction(repr(by_id[row["pair_id"]][name])) for name in row if "_logp_" in name)
        margins.append(Fraction("0.1") * ((pc - rc) - (pr - rr)))
        drifts.append((pc - rc) / row["chosen_token_count"])
        losses.append(int(row["loss_quanta_text"] or row["loss_quanta"]))
    assert found.mean_margin == sum(margins) / len(margins)
    assert found.mean_loss == Fraction(sum(losses), 10**9 * len(losses))
    assert found.lowest_admitted_drift == min(drifts)


def without_positions(path: Path) -> list[dict[str, Any]]:
    rows = pq.read_table(path / "scored.parquet").to_pylist()
    return sorted(({name: value for name, value in row.items() if name not in ("ordinal", "line")} for row in rows), key=repr)


@pytest.mark.parametrize(("seed", "size"), [(1, 1), (2, 7), (3, 1000)])
def test_neither_the_order_of_the_rows_nor_the_size_of_the_batches_matters(tmp_path: Path, seed: int, size: int) -> None:
    rows = rows_of_all_kinds()
    shuffled = random.Random(seed).sample(rows, len(rows))
    folders = [tmp_path / "given", tmp_path / "shuffled"]
    for folder in folders:
        folder.mkdir()
    found = [curate(Pairs(given, size=batch), folder, GATES) for given, batch, folder in ((rows, 13, folders[0]), (shuffled, size, folders[1]))]
    assert found[0].as_dict() == found[1].as_dict()
    assert found[0].admitted_pair_ids == found[1].admitted_pair_ids
    assert (folders[0] / "admitted_pairs.json").read_bytes() == (folders[1] / "admitted_pairs.json").read_bytes()
    assert repr(without_positions(folders[0])) == repr(without_positions(folders[1]))


def test_batches_of_another_size_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, written = rows_of_all_kinds(), []
    # small row groups: the regrouping has to cut and join batches
    monkeypatch.setattr("core.gates.curation._STORAGE", {"batch_rows": 1, "batch_bytes": 400, "narrow_row_group": 10})
    for size in (1, 9, 1000):
        folder = tmp_path / str(size)
        folder.mkdir()
        curate(Pairs(rows, size=size), folder, GATES)
        written.append((folder / "scored.parquet").read_bytes())
    assert written[0] == written[1] == written[2]
    assert pq.ParquetFile(tmp_path / "9" / "scored.parquet").metadata.row_group(0).num_rows == 10


@pytest.mark.parametrize("threads", [1, 4])
def test_the_number_of_threads_does_not_matter(tmp_path: Path, threads: int) -> None:
    before, expected = pa.cpu_count(), curate(Pairs(rows_of_all_kinds(), size=5), None, GATES)
    pa.set_cpu_count(threads)
    try:
        found = curate(Pairs(rows_of_all_kinds(), size=5), tmp_path, GATES)
    finally:
        pa.set_cpu_count(before)
    assert (found.as_dict(), found.admitted_pair_ids) == (expected.as_dict(), expected.admitted_pair_ids)


def test_the_same_without_a_destination(tmp_path: Path) -> None:
    assert curate(Pairs(rows_of_all_kinds()), None, GATES).as_dict() == curate(Pairs(rows_of_all_kinds()), tmp_path, GATES).as_dict()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["admitted_pairs.json", "scored.parquet"]


def test_no_pairs_and_no_admitted_pairs(tmp_path: Path) -> None:
    for rows in ([], [pair(prompt="")]):
        found = curate(Pairs(rows), tmp_path)
        assert (found.admitted, found.mean_margin, found.mean_loss, found.lowest_admitted_drift, found.admitted_pair_ids) == (0, None, None, None, ())
        assert (found.collapsed, found.judged) == (0, 0)
        assert found.trap.margin is None
        assert (tmp_path / "admitted_pairs.json").read_bytes() == b"[]"
        assert pq.read_table(tmp_path / "scored.parquet").num_rows == len(rows)


def test_as_dict_is_json_with_large_integers_as_text() -> None:
    document = curate(Pairs(rows_of_all_kinds()), None, GATES).as_dict()
    assert json.loads(rfc8785.dumps(document)) == document
    assert isinstance(document["mean_margin"]["numerator"], str)
    assert curate(Pairs(worked_example())).as_dict()["mean_margin"] == {"numerator": 37, "denominator": 40, "value": 0.925}


def test_several_pairs_of_one_prompt_where_the_grid_does_not_enforce_the_prompt_key() -> None:
    rows = [pair("a", prompt="Same"), pair("b", prompt="same!"), pair("c", chosen="Use a lock a")]
    assert curate(Pairs(rows)).counts["admitted"] == 1
    grid = grid_with(enforced_dedup_keys=["chosen_structural_skeleton_sha256", "joint_transition_pair_sha256"])
    assert curate(Pairs(rows), grid=grid).admitted_pair_ids == ("a", "b")


def test_case_15_first_three_are_one_group_and_each_says_which_key_matched(tmp_path: Path) -> None:
    same = ["Set retries to 3.", "set  retries to 3.", "**Set** retries to `3`."]
    answers = [*same, "Set retries to 30.", "Set retries to -3.", "Don't set retries to 3.", "x = a*b", "x = ab"]
    rows = [pair(f"p{place}", chosen=answer) for place, answer in enumerate(answers)]
    curate(Pairs(random.Random(4).sample(rows, len(rows))), tmp_path)
    written = {row["pair_id"]: row for row in pq.read_table(tmp_path / "scored.parquet").to_pylist()}
    assert {name: row["duplicate_of_skeleton"] for name, row in written.items() if row["state"] == "rejected"} == {"p1": "p0", "p2": "p0"}


def test_means_of_valid_pairs_are_given_by_origin() -> None:
    # margins 0.8, and 0.1 * ((-19 + 22) + 6) = 0.9 for the other verified pair; a rejected pair counts, an invalid one does not
    rows = [pair("a"), pair("b", policy_logp_chosen=-19.0, rejected_token_count=90), pair("c", prompt="")]
    rows += [pair("s", origin="synthetic", judge_id="x")]
    found = curate(Pairs(rows)).valid_means
    assert (found["verified"].pairs, found["verified"].margin, found["verified"].drift) == (2, pytest.approx(0.85), pytest.approx((0.1 + 0.15) / 2))
    assert (found["synthetic"].pairs, found["synthetic"].margin) == (1, pytest.approx(0.8))


def test_progress_counts_pairs() -> None:
    seen: list[tuple[int, int]] = []
    IterativeRpoPairCurator(default_grid()).curate(
        Pairs(worked_example(), size=2), quarantined=0, gates=CALIBRATED, destination=None, progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(2, 5), (4, 5), (5, 5)]


def test_the_spill_has_no_name_and_is_gone_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), settle.ScoredSpill(tmp_path):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
