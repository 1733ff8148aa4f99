"""What is said of a declared cut-off, held against real tokenizers and against TRL's own collator."""
from __future__ import annotations

import random
from typing import Any

import pytest
from support_clients import tokenizer
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
from trl.trainer.dpo_trainer import DataCollatorForPreference

from core.pairs.cutoff import Answers, CutOff, equal_under

WORDS = [
    "the", "of", "and", "to", "in", "is", "lock", "retry", "unbelievable", "unbelievers", "thread", "café", "naïve", "12", "345", "6789", "don't",
    "can't", "foo(bar)", "x=a*b", "-3", "3.14", "重试次数", "你好世界", "\U0001f600", "\U0001f44d\U0001f3fd", "e\u0301clair", "привет", "мир", "\n",
    "\n\n", "\t", "**bold**", "`code`", "End.", "Why?",
]
SPLITS = {
    # how GPT-2 and cl100k split text before merging: letters, numbers, marks, white space
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "cl100k": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}


def words(rng: random.Random, count: int) -> str:
    return "".join(rng.choice(WORDS) + rng.choice([" ", " ", " ", "", "\n", "  ", ", ", ". "]) for _ in range(count))


@pytest.fixture(scope="module", params=["gpt2", "cl100k", "unigram"])
def trained(request: pytest.FixtureRequest) -> Tokenizer:
    """A tokenizer trained here on texts of the same words."""
    rng = random.Random(7)
    corpus = [words(rng, 60) for _ in range(1500)]
    if request.param == "unigram":
        made = Tokenizer(models.Unigram())
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        made.train_from_iterator(corpus, trainers.UnigramTrainer(vocab_size=800, show_progress=False, unk_token="<unk>", special_tokens=["<unk>"]))
        return made
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLITS[request.param]), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=1500, initial_alphabet=alphabet, show_progress=False))
    return made


def test_nothing_is_proved_that_a_tokenizer_contradicts(trained: Tokenizer) -> None:
    """Random pairs with a common beginning or end, cut anywhere, with an end token and without: where a proof is claimed the kept token
    ids are the same. Hundreds of proofs, so that the claim is not empty; of the estimates most are right, and some are not."""
    rng, proved, estimated, right = random.Random(11), 0, 0, 0
    for _ in range(2500):
        head, keeps = words(rng, rng.randrange(1, 40)), rng.choice(["start", "end"])
        head, tails = head[:rng.randrange(1, len(head) + 1)], [words(rng, rng.randrange(0, 6)) for _ in range(2)]
        one, other = (head + tail if keeps == "start" else tail + head for tail in tails)
        ends = [-1] * rng.choice([0, 1])
        ids = [trained.encode(text).ids + ends for text in (one, other)]
        length = rng.randrange(1, max(map(len, ids)) + 1)
        found = equal_under(
            CutOff(length, "completion_tokens", keeps), Answers(0, one, other, len(ids[0]), len(ids[1]), len(one) + len(other)))
        same = ids[0][:length] == ids[1][:length] if keeps == "start" else ids[0][-length:] == ids[1][-length:]
        if found is not None and found.basis == "proved":
            proved += 1
            assert same, (keeps, length, one, other)
        elif found is not None:
            estimated, right = estimated + 1, right + same
    assert proved > 200 and right > estimated / 2


def collated(prompt: str, chosen: str, rejected: str, length: int, mode: str) -> dict[str, Any]:
    """What TRL's collator hands to the model; one token a byte, and an end token."""
    made = tokenizer()
    ids = {f"{name}_ids": made(text)["input_ids"] for name, text in (("prompt", prompt), ("chosen", chosen), ("rejected", rejected))}
    ids |= {f"{side}_ids": [*ids[f"{side}_ids"], made.eos_token_id] for side in ("chosen", "rejected")}
    batch: dict[str, Any] = DataCollatorForPreference(made.pad_token_id, max_length=length, truncation_mode=mode)([ids])
    return batch


@pytest.mark.parametrize(("length", "basis", "same"), [
    # 9,893 and 9,892 bytes and an end token each: at least 9,894 - 1 - 4 = 9,889 and 9,893 - 1 - 3 = 9,889 tokens are common
    (1024, "proved", True), (9889, "proved", True),
    # a prompt of 6 bytes takes 6.0006 tokens by that rate; 9,896 - 6 = 9,890 characters are common
    (9890, "estimated", True), (9896, "estimated", True), (9898, None, False),
])
def test_trl_trains_on_what_is_said_of_the_known_case(length: int, basis: str | None, same: bool) -> None:
    head = " ".join(f"token{number}" for number in range(1100))
    pair = Answers(6, f"{head} yes", f"{head} no", 9894, 9893, 9893 + 9892)
    found = equal_under(CutOff(length, "sequence_tokens"), pair)
    assert (None if found is None else found.basis) == basis
    batch = collated("Which?", pair.chosen, pair.rejected, length, "keep_start")
    chosen, rejected = (row[mask.bool()].tolist() for row, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True))
    assert (chosen == rejected) is same


def test_trl_keeps_the_end_as_it_is_said() -> None:
    """"yes" and "no" before a common end of 9,890 bytes, and an end token: behind the first word that ends in white space, token0, lie 9 and
    10 bytes, so 9,893 - 1 - 9 = 9,883 tokens are common at the end."""
    head = " ".join(f"token{number}" for number in range(1100))
    pair = Answers(6, f"yes {head}", f"no {head}", 9894, 9893, 9893 + 9892)
    for length, basis in ((9883, "proved"), (9884, "estimated")):
        found = equal_under(CutOff(length, "sequence_tokens", "end"), pair)
        assert found is not None and found.basis == basis
        batch = collated("Which?", pair.chosen, pair.rejected, length, "keep_end")
        assert batch["input_ids"][0].tolist() == batch["input_ids"][1].tolist()
