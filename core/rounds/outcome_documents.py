"""Whether both arms were asked the same: digests of the document, the prompt and the right answer are kept with an outcome where its format
has them (lm-eval writes all three; of Inspect, lighteval and IFEval the prompt is hashed when it is read)."""
from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_KINDS: Final = {
    "doc_hash": ("other_document", "the arms were asked different documents"),
    "prompt_hash": ("other_prompt", "the arms were asked by different prompts, as with other shots, another instruction or another chat template"),
    "target_hash": ("other_target", "the arms were measured against different right answers"),
}


def differing_documents(outcomes: pa.Table) -> Iterator[tuple[str, str, list[str]]]:
    """(code, what differs in words, ids in order) for each digest that is not the same in all outcomes of an item. Outcomes without one say
    nothing; where the documents differ, their prompts and answers do as well and are not told again."""
    hashed = outcomes.filter(pc.match_substring(outcomes["extra"], '_hash"'))
    found: dict[str, dict[str, set[str]]] = {key: {} for key in _KINDS}
    for name, extra in zip(hashed["id"].to_pylist(), hashed["extra"].to_pylist(), strict=True):
        kept = json.loads(extra)
        for key, seen in found.items():
            if isinstance(kept.get(key), str):
                seen.setdefault(name, set()).add(kept[key])
    told: set[str] = set()
    for key, (code, text) in _KINDS.items():
        names = sorted(name for name, values in found[key].items() if len(values) > 1 and name not in told)
        told.update(names if key == "doc_hash" else ())
        if names:
            yield code, f"{text} ({key} differs)", names
