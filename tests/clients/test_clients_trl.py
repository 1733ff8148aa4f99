"""TRL's own DPOTrainer accepts every export, on the CPU, with a model made from a configuration and a tokenizer made here."""
from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import datasets
import pytest
import torch
from support_clients import rendered, tokenizer, trainer
from support_desk import Desk
from support_export import CASE_17, CASE_21, CHAT, approved_round, rows_of, signed_export
from support_rounds import pair
from support_trainers import READERS, Read

from core.export.dataset import Dataset
from core.export.shapes import SHAPES
from core.rounds.folder import Round

DIRECT = ("trl", "trl-plain", "openrlhf", "openrlhf-prompt", "axolotl-chat-template-argilla-chat")
"""Shapes whose columns TRL knows; the others go through their own trainer's reader first (support_trainers)."""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Round]:
    return approved_round(tmp_path_factory.mktemp("plain"), CASE_21)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Round]:
    return approved_round(tmp_path_factory.mktemp("everything"), [*CHAT, *CASE_17, *CASE_21])


def loaded(done: Dataset, place: Path) -> datasets.Dataset:
    return datasets.load_dataset(str(done.folder), split="train", cache_dir=str(place / "cache"))


def as_trl(reads: list[Read]) -> datasets.Dataset:
    rows = [{"prompt": prompt, "chosen": chosen, "rejected": rejected, "tools": tools} for prompt, chosen, rejected, tools in reads]
    return datasets.Dataset.from_list(rows, on_mixed_types="use_json")


def check_tokens(rows: datasets.Dataset, reads: list[Read], *, plain_text: bool = False) -> None:
    """What TRL tokenised is, decoded, exactly what the template makes of the pair."""
    words = tokenizer()
    assert rows.num_rows == len(reads)
    for row, (prompt, chosen, rejected, tools) in zip(rows, reads, strict=True):
        texts = [words.decode(row[f"{side}_ids"]) for side in ("prompt", "chosen", "rejected")]
        if plain_text:
            assert texts == [prompt[0]["content"], *(f"{side[0]['content']}<eos>" for side in (chosen, rejected))]
            continue
        before, one = rendered(words, prompt, chosen, tools)
        _, other = rendered(words, prompt, rejected, tools)
        assert texts == [before, one, other]


@pytest.mark.parametrize("parquet", [False, True], ids=["jsonl", "parquet"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_trainer_tokenises_every_shape_to_the_texts_that_were_approved(
    plain: tuple[Desk, Round], tmp_path: Path, shape: str, parquet: bool,
) -> None:
    done = signed_export(*plain, tmp_path / "d", shape, parquet=parquet)
    rows = loaded(done, tmp_path)
    reads = [READERS[shape](row) for row in rows_of(done)]
    given = rows if shape in DIRECT else as_trl([READERS[shape](row) for row in rows])
    check_tokens(trainer(tmp_path / "out", given).train_dataset, reads, plain_text=shape == "trl-plain")


@pytest.mark.parametrize("parquet", [False, True], ids=["jsonl", "parquet"])
def test_tool_calls_and_tools_reach_the_template(everything: tuple[Desk, Round], tmp_path: Path, parquet: bool) -> None:
    done = signed_export(*everything, tmp_path / "d", parquet=parquet, extras=("pair-ids",))
    made = trainer(tmp_path / "out", loaded(done, tmp_path))
    check_tokens(made.train_dataset, [READERS["trl"](row) for row in rows_of(done)])
    words = tokenizer()
    told = {row["pair_id"]: words.decode(row["chosen_ids"]) for row in made.train_dataset}
    # case 17: each call has its own arguments and no more, an object as an object, text as text, null content as nothing
    assert told["tool-1"].startswith('<call>add({"x": 1})</call><end><tool>2<end>')
    assert told["tool-2"] == '<call>add({"y": [true, null]})</call><end>'
    assert told["tool-3"] == '<call>add({"x": 1})</call><end>'


@pytest.mark.parametrize("parquet", [False, True], ids=["jsonl", "parquet"])
def test_template_settings_reach_the_template(tmp_path: Path, parquet: bool) -> None:
    rows = [*CHAT, pair(pair_id="k", prompt="Think.", chosen="Yes.", rejected="No.", chat_template_kwargs={"mode": "slow"})]
    done = signed_export(*approved_round(tmp_path, rows, alone=True), tmp_path / "d", parquet=parquet, extras=("pair-ids",))
    made = trainer(tmp_path / "out", loaded(done, tmp_path))
    prompts = {row["pair_id"]: tokenizer().decode(row["prompt_ids"]) for row in made.train_dataset}
    assert prompts["k"].startswith("[slow]<user>Think.") and prompts["chat-1"].startswith("<system>Be brief.")


def test_the_trainer_trains_with_the_settings_of_the_recipe(everything: tuple[Desk, Round], tmp_path: Path) -> None:
    done = signed_export(*everything, tmp_path / "d", parquet=True)
    recipe = json.loads((done.folder / "training-recipe.json").read_text("utf-8"))["trainers"]["trl"]
    made = trainer(tmp_path / "out", loaded(done, tmp_path), **recipe["settings"])
    assert (made.args.beta, list(made.args.loss_type), list(made.args.loss_weights)) == (0.1, ["sigmoid", "sft"], [1.0, 1.0])
    made.train()
    logged = made.state.log_history[0]
    # policy and reference are the same model at the first step: margin 0, so the DPO part is log 2, and the sft part is on top of it
    assert logged["rewards/margins"] == pytest.approx(0, abs=1e-6)
    assert logged["loss"] > 0.6931


def test_trls_sft_term_is_a_token_mean_and_ours_is_not(tmp_path: Path) -> None:
    """The sentence of the recipe, with numbers: two pairs whose chosen answers have 4 and 41 tokens, an end-of-sequence token included."""
    rows = [
        pair(pair_id="short", prompt="Say a.", chosen="aaa", rejected="No."),
        pair(pair_id="long", prompt="Say b.", chosen="b " * 20, rejected="Never."),
    ]
    done = signed_export(*approved_round(tmp_path, rows, alone=True), tmp_path / "d", "trl-plain", parquet=True)
    settings = json.loads((done.folder / "training-recipe.json").read_text("utf-8"))["trainers"]["trl"]["settings"]
    made = trainer(tmp_path / "out", loaded(done, tmp_path), **settings)
    sums, counts = [], []
    for row in made.train_dataset:
        tokens = torch.tensor([row["prompt_ids"] + row["chosen_ids"]])
        with torch.no_grad():
            logps = torch.log_softmax(made.model(tokens).logits[0, :-1].double(), -1)
        start = len(row["prompt_ids"]) - 1
        sums.append(-logps[range(start, tokens.shape[1] - 1), tokens[0, start + 1:]].sum().item())
        counts.append(len(row["chosen_ids"]))
    assert sorted(counts) == [4, 41]
    made.train()
    # policy and reference are the same model: log 2 for the DPO part, alpha is 1
    logged = made.state.log_history[0]["loss"] - math.log(2)
    token_mean, pair_mean = sum(sums) / sum(counts), sum(total / count for total, count in zip(sums, counts, strict=True)) / 2
    assert logged == pytest.approx(token_mean, abs=1e-3)
    assert abs(token_mean - pair_mean) > 5e-3 and logged != pytest.approx(pair_mean, abs=5e-3)


def test_older_spelling_is_gone_from_this_trl() -> None:
    from trl import DPOConfig

    with pytest.raises(TypeError, match="rpo_alpha"):
        DPOConfig(output_dir="unused", rpo_alpha=1.0)


def test_reference_columns_are_sums_that_trl_takes_into_its_batches(plain: tuple[Desk, Round], tmp_path: Path) -> None:
    done = signed_export(*plain, tmp_path / "d", "trl-plain", parquet=True, extras=("reference-logps",))
    made = trainer(tmp_path / "out", loaded(done, tmp_path))
    batch = made.data_collator([made.train_dataset[0], made.train_dataset[1]])
    rows = rows_of(done)
    assert batch["ref_chosen_logps"].tolist() == pytest.approx([row["ref_chosen_logps"] for row in rows[:2]])
    assert batch["ref_rejected_logps"].tolist() == pytest.approx([row["ref_rejected_logps"] for row in rows[:2]])


def test_reference_columns_and_precomputing_exclude_each_other(plain: tuple[Desk, Round], tmp_path: Path) -> None:
    # what the card says: TRL computes its own and puts columns of the same name beside them
    done = signed_export(*plain, tmp_path / "d", "trl-plain", parquet=True, extras=("reference-logps",))
    rows = loaded(done, tmp_path)
    with pytest.raises(ValueError, match="ref_chosen_logps"):
        trainer(tmp_path / "out", rows, precompute_ref_log_probs=True)
    bare: Any = rows.remove_columns(["ref_chosen_logps", "ref_rejected_logps"])
    made = trainer(tmp_path / "again", bare, precompute_ref_log_probs=True)
    assert {"ref_chosen_logps", "ref_rejected_logps"} <= set(made.train_dataset.column_names)
