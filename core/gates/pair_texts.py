"""The texts and task ids of stored pairs, as contamination looks at them."""
from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa

from core.pairs.chat_texts import field_texts
from core.pairs.contamination import FIELDS, CheckedPair
from core.pairs.task_ids import task_ids


def checked_pairs(narrow: pa.RecordBatch, text: pa.RecordBatch) -> Iterator[CheckedPair]:
    """The pairs of aligned batches with their texts and task ids."""
    sides = [list(zip(text[field].to_pylist(), text[f"{field}_messages"].to_pylist(), strict=True)) for field in FIELDS]
    columns = (narrow[name].to_pylist() for name in ("ordinal", "pair_id", "task_id", "extra"))
    for row, (ordinal, pair_id, task, extra) in enumerate(zip(*columns, strict=True)):
        texts = [one for field, side in zip(FIELDS, sides, strict=True) for one in field_texts(field, *side[row])]
        tasks = [] if task is None or task == "" else [("task_id", task)]
        yield CheckedPair(ordinal, pair_id, texts, [*tasks, *(() if extra is None else task_ids(json.loads(extra)))])
