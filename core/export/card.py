"""README.md: the dataset card. Front matter that the Hub and ``datasets`` read, then what a person should know before training on it.

What the round says about itself (names, ids, comments) is untrusted and passes ``safe_text``.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from core.export.beside import UNKNOWN_LICENSE, Facts
from core.export.columns import ListOf, Record, feature, holds_json
from core.export.provenance import UNSIGNED
from core.export.recipe import LOSS_NOTE
from core.export.safe_text import code, yaml_lines
from core.schemas import REASONS
from core.settings import SETTINGS
from core.text import shortened, visible_line

_SETTINGS: Final = SETTINGS["export"]


def card(facts: Facts) -> str:
    """The whole file."""
    front = "\n".join(yaml_lines(front_matter(facts)))
    body = "\n".join(_body(facts))
    return f"---\n{front}\n---\n\n{body}\n"


def front_matter(facts: Facts) -> dict[str, Any]:
    """The metadata, as the Hub names it; ``countersign`` is ours."""
    wanted, shape = facts.wanted, facts.wanted.shape
    signed = facts.provenance.signed
    front: dict[str, Any] = {"license": wanted.license}
    if wanted.languages:
        front["language"] = list(wanted.languages)
    return front | {
        "pretty_name": facts.title,
        "tags": ["dpo", "rpo", "preference", "countersign", shape.trainer.lower(), *([] if signed else ["unsigned"])],
        "task_categories": ["text-generation"],
        "size_categories": [size_category(facts.rows)],
        # one config: a folder whose configs are of two file formats cannot be loaded
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": facts.main_file.name}]}],
        "dataset_info": _info(facts),
        "countersign": _identity(facts),
    }


def size_category(rows: int) -> str:
    """The Hub's bracket for a number of rows."""
    return str(next((name for limit, name in _SETTINGS["size_categories"] if rows < limit), _SETTINGS["largest_category"]))


def _info(facts: Facts) -> dict[str, Any]:
    """Types and sizes of the file that ``load_dataset`` takes by itself: ``download_size`` is the file's, the others are the rows' in memory."""
    return {
        "config_name": "default", "features": [feature(name, kind) for name, kind in facts.kinds.items()],
        "splits": [{"name": "train", "num_bytes": facts.memory, "num_examples": facts.rows}],
        "download_size": facts.main_file.size, "dataset_size": facts.memory,
    }


def _identity(facts: Facts) -> dict[str, Any]:
    """What this dataset is, by digests: for programs."""
    provenance = facts.provenance
    return {
        **provenance.standing, "grid_digest": provenance.grid.digest, "approvals": [item.envelope_sha256 for item in provenance.approvals],
        "engine_version": provenance.engine[0], "code_digest": provenance.engine[1], "format": facts.wanted.shape.name, "turns": facts.wanted.turns,
    }


def _body(facts: Facts) -> Iterator[str]:
    yield f"# {code(facts.title)}"
    yield ""
    yield from _standing(facts)
    yield from _pairs(facts)
    yield from _models(facts)
    yield from _files(facts)
    yield from _loading(facts)
    yield from _terms(facts)


def _standing(facts: Facts) -> Iterator[str]:
    provenance = facts.provenance
    if not provenance.signed:
        yield f"**{UNSIGNED}** They are what the engine admits under the grid below. Its verdict on the round: {code(provenance.verdict)}."
    else:
        yield ("**Approved.** The approval was verified and the decision computed again when this folder was written. To check it yourself, with "
               "your own registry, the round and the ledger:")
        yield ""
        yield "    countersign verify evidence --registry REGISTRY --round ROUND --ledger LEDGER"
    yield ""
    decision = provenance.decision
    if decision is not None:
        yield f"- receipt: SHA-256 `{decision['receipt_sha256']}`"
    yield f"- round: {code(provenance.source.manifest.round_id)}, SHA-256 `{provenance.source.digest}`"
    yield f"- grid: {code(provenance.grid.name)} version {provenance.grid.version}, SHA-256 `{provenance.grid.digest}`"
    yield f"- list of admitted pairs: SHA-256 `{provenance.admitted_sha256}`"
    yield f"- proposed by {', '.join(code(name) for name in provenance.source.manifest.proposers)}"
    for approval in provenance.approvals:
        yield f"- approved by {code(approval.reviewer)} on {approval.issued_at} with key {code(approval.keyid)}"
        yield f"  - envelope: SHA-256 `{approval.envelope_sha256}`"
        if approval.comment:
            yield f"  - comment: {code(shortened(visible_line(approval.comment), _SETTINGS['comment_characters']))}"
    if provenance.source.manifest.label:
        yield f"- label of the round: {code(provenance.source.manifest.label)}"
    yield ""


def _pairs(facts: Facts) -> Iterator[str]:
    table: Mapping[str, Any] = facts.provenance.reason_table
    yield "## Where the pairs went"
    yield ""
    order = "in the order of the signed list, smallest loss first" if facts.provenance.signed else "smallest loss first"
    yield (f"{table['in']:,} in = {table['admitted']:,} admitted + {table['rejected']:,} rejected + {table['held']:,} held + "
           f"{table['quarantined']:,} quarantined. This dataset holds the {facts.rows:,} admitted pairs, {order}.")
    yield ""
    if table["rejected"]:
        yield "| rejected because | pairs |"
        yield "|---|---|"
        yield from (f"| `{reason}` | {table['reasons'][reason]:,} |" for reason in REASONS if table["reasons"][reason])
        yield ""


def _models(facts: Facts) -> Iterator[str]:
    manifest = facts.provenance.source.manifest
    models = {"candidate": manifest.candidate, "baseline": manifest.baseline, "policy": manifest.policy, "reference": manifest.reference}
    yield "## Models and judges that the round names"
    yield ""
    for role, model in models.items():
        if model is not None:
            yield f"- {role}: {code(model.name)}, {f'SHA-256 `{model.digest}`' if model.digest else 'digest not stated'}"
    for judge_id, judge in manifest.judges.items():
        named = [f"{key} {code(value)}" for key, value in (("name", judge.name), ("version", judge.version)) if value]
        yield f"- judge {code(judge_id)}{': ' if named else ''}{', '.join(named)}"
    yield ""


def _files(facts: Facts) -> Iterator[str]:
    shape = facts.wanted.shape
    yield "## Data"
    yield ""
    yield f"{facts.rows:,} rows for {shape.trainer}: {shape.title} (`--format {shape.name}`, `--turns {facts.wanted.turns}`)."
    yield ""
    yield "| column | type |"
    yield "|---|---|"
    yield from (f"| `{name}` | {_kind_words(kind)} |" for name, kind in facts.kinds.items())
    yield ""
    yield "| file | bytes | SHA-256 |"
    yield "|---|---|---|"
    yield from (f"| `{file.name}` | {file.size:,} | `{file.sha256}` |" for file in facts.files)
    yield ""
    yield "`sha256sum -c sha256sums` checks every file of this folder."
    yield ""
    for note in facts.notes():
        yield f"- {note}"
    yield ""


def _kind_words(kind: Any) -> str:
    if isinstance(kind, ListOf):
        return f"list of {_kind_words(kind.item)}"
    if isinstance(kind, Record):
        return f"object of texts ({', '.join(kind.names)})"
    return "JSON" if holds_json(kind) else str(kind)


def _loading(facts: Facts) -> Iterator[str]:
    yield "## Load and train"
    yield ""
    yield "    from datasets import load_dataset"
    yield '    pairs = load_dataset("THIS FOLDER", split="train")'
    yield ""
    grid = facts.provenance.grid
    yield (f"beta is {grid.text('dpo_beta')} and alpha (weight of the NLL term) is {grid.text('rpo_nll_alpha')}; `training-recipe.md` has both in "
           "each trainer's spelling.")
    yield ""
    yield LOSS_NOTE
    yield ""


def _terms(facts: Facts) -> Iterator[str]:
    wanted = facts.wanted
    yield "## Terms"
    yield ""
    if wanted.license == UNKNOWN_LICENSE:
        yield "License: unknown. Nobody stated one when this was exported; ask the proposer before you use or share the texts."
    else:
        yield f"License: {code(wanted.license)}, as stated by the person who exported."
    yield ""
    yield "Language: " + (", ".join(code(name) for name in wanted.languages) if wanted.languages else "not declared") + "."
    yield ""
    yield "The texts come from the models and sources that the round names. An approval says that they may train the next generation of this"
    yield "flywheel; it says nothing about their truth, and nothing about other uses."
