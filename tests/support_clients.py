"""A tokenizer and a model made in the test, for TRL: nothing is downloaded. Imported by tests/clients alone.

The tokenizer has one token a byte, so that what TRL tokenised can be decoded to exactly the text that it rendered.
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer

TEMPLATE = (
    "{% if mode %}[{{ mode }}]{% endif %}{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}<call>{{ c.function.name }}({{ c.function.arguments if c.function.arguments is string "
    "else c.function.arguments | tojson }})</call>{% endfor %}<end>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
"""A chat template that shows everything a message may hold; arguments that are text as they are, an object as JSON."""


def tokenizer() -> PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={letter: place for place, letter in enumerate(alphabet)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<eos>", pad_token="<pad>", clean_up_tokenization_spaces=False)
    fast.chat_template = TEMPLATE
    return fast


def model(words: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(words), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
        max_position_embeddings=8192, pad_token_id=words.pad_token_id, eos_token_id=words.eos_token_id, bos_token_id=None,
    )
    return LlamaForCausalLM(config)


def trainer(place: Path, rows: Dataset, **settings: Any) -> DPOTrainer:
    """TRL's own trainer over the rows: making it tokenises them."""
    words = tokenizer()
    arguments = DPOConfig(
        output_dir=str(place), use_cpu=True, bf16=False, report_to=[], max_length=None, per_device_train_batch_size=2, max_steps=1,
        save_strategy="no", logging_steps=1, disable_tqdm=True, **settings,
    )
    # without a reference model TRL would load one from the path that the model came from
    return DPOTrainer(model=model(words), ref_model=model(words), args=arguments, train_dataset=rows, processing_class=words)


def rendered(words: PreTrainedTokenizerFast, prompt: Any, answer: Any, tools: Any) -> tuple[str, str]:
    """What the template makes of a prompt and of the answer behind it, as text."""
    before = words.apply_chat_template(prompt, tools=tools, add_generation_prompt=True, tokenize=False)
    whole = words.apply_chat_template([*prompt, *answer], tools=tools, tokenize=False)
    assert whole.startswith(before)
    return before, whole[len(before):]
