"""The training recipe: the grid's beta and alpha and the round's cut-off in each trainer's spelling, and what its logged loss is not."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from core.export.cutoff import spelled
from core.export.provenance import Provenance
from core.export.safe_text import code, decimals
from core.pairs.cutoff import CutOff
from core.settings import SETTINGS

LOSS_NOTE: Final = (
    "Our NLL term is a per-pair mean: each pair's own mean over its chosen tokens, then the mean over pairs. TRL's sft term is one "
    "token mean over the batch, over all its chosen tokens, so long answers weigh more. The two are equal only where the lengths are, "
    "so the loss that a trainer logs differs from the one in the receipt, for the same data and the same numbers."
)
MARGIN_NOTE: Final = "TRL's logged `rewards/margins` is what the receipt calls `mean_dpo_margin`: beta is in both."
OBJECTIVE: Final = "-log sigmoid(beta * ((pc - rc) - (pr - rr))) + alpha * NLL of the chosen answer"


def recipe(provenance: Provenance, data_file: str, shape: str) -> dict[str, Any]:
    """``training-recipe.json``. ``objective`` holds the numbers as the grid writes them; ``trainers`` each trainer's spelling of them.
    ``cutoff``, and a comment of that name at each trainer, are there only where the round declares a training cut-off."""
    grid, cutoff = provenance.grid, provenance.source.manifest.cutoff
    beta, alpha = grid.text("dpo_beta"), grid.text("rpo_nll_alpha")
    trainers = _trainers(float(grid.fraction("dpo_beta")), float(grid.fraction("rpo_nll_alpha")))
    return {
        "recipe_version": SETTINGS["export"]["recipe_version"], **provenance.standing,
        "grid": {"digest": grid.digest, "name": grid.name, "version": grid.version},
        "data": {"file": data_file, "format": shape},
        "objective": {"name": "DPO with an NLL term (RPO)", "formula": OBJECTIVE, "beta": beta, "alpha": alpha, "nll": "per-pair mean"},
        "trainers": trainers if cutoff is None else {name: _with_cutoff(name, entry, cutoff) for name, entry in trainers.items()},
        "notes": [LOSS_NOTE, MARGIN_NOTE],
    } | ({} if cutoff is None else {"cutoff": cutoff.document() | {"text": cutoff.words()}})


def _with_cutoff(name: str, entry: Mapping[str, Any], cutoff: CutOff) -> dict[str, Any]:
    found = spelled(name, cutoff)
    return {**entry, "settings": {**entry["settings"], **found.settings}, "cutoff": found.comment}


def _trainers(beta: float, alpha: float) -> dict[str, Mapping[str, Any]]:
    """Where a trainer changed its spelling, both are here: the present one first, since each refuses or ignores the other's."""
    weights = [1.0, alpha]
    losses = ["sigmoid", "sft"]
    openrlhf = "openrlhf.cli.train_dpo"
    return {
        "trl": {"class": "DPOConfig", "versions": "TRL 0.29 and later", "settings": {"beta": beta, "loss_type": losses, "loss_weights": weights}},
        # before 0.10 rpo_alpha was the weight of the other term
        "trl-older": {"class": "DPOConfig", "versions": "TRL 0.10 to 0.28", "settings": {"beta": beta, "loss_type": "sigmoid", "rpo_alpha": alpha}},
        "ms-swift": {"command": "swift rlhf", "settings": {"rlhf_type": "dpo", "beta": beta, "rpo_alpha": alpha}},
        "openrlhf": {
            "command": openrlhf, "versions": "where options have groups (`--data.dataset`)",
            "settings": {"model.beta": beta, "model.nll_loss_coef": alpha},
        },
        "openrlhf-older": {
            "command": openrlhf, "versions": "where they have none (`--dataset`)", "settings": {"beta": beta, "nll_loss_coef": alpha},
        },
        "llamafactory": {"settings": {"stage": "dpo", "pref_loss": "sigmoid", "pref_beta": beta, "pref_ftx": alpha}},
        "axolotl": {
            "versions": "with TRL 0.29 and later",
            "settings": {"rl": "dpo", "rl_beta": beta, "dpo_loss_type": losses, "dpo_loss_weights": weights},
        },
        "axolotl-older": {"versions": "with TRL 0.10 to 0.28", "settings": {"rl": "dpo", "rl_beta": beta, "rpo_alpha": alpha}},
        "openai": {
            "settings": {"method": {"type": "dpo", "dpo": {"hyperparameters": {"beta": beta}}}},
            "without": "alpha: preference fine-tuning has no NLL term",
        },
    }


def recipe_text(document: Mapping[str, Any]) -> str:
    """``training-recipe.md``: the same in words."""
    objective, grid = document["objective"], document["grid"]
    standing = [] if document["signed"] else [f"**{document['statement']}**", ""]
    lines = [
        "# Training recipe", "", *standing,
        f"beta {objective['beta']} and alpha {objective['alpha']}, pinned by the grid {code(grid['name'])} version {grid['version']}",
        f"(SHA-256 `{grid['digest']}`).", "",
        f"    {objective['formula']}", "",
        "| trainer | versions | spelling |", "|---|---|---|",
        *(f"| {name} | {entry.get('versions', 'present')} | {_spelling(entry)} |" for name, entry in document["trainers"].items()), "",
        *_cutoff_lines(document), *(line for note in document["notes"] for line in (note, "")),
    ]
    return "\n".join(lines)


def _cutoff_lines(document: Mapping[str, Any]) -> list[str]:
    if "cutoff" not in document:
        return []
    said = [f"- {name}: {entry['cutoff']}." for name, entry in document["trainers"].items()]
    return [f"The round declares that training keeps {document['cutoff']['text']}:", "", *said, ""]


def _spelling(entry: Mapping[str, Any]) -> str:
    said = ", ".join(f"`{name}={_shown(value)}`" for name, value in entry["settings"].items())
    return f"{said}; without {entry['without']}" if "without" in entry else said


def _shown(value: Any) -> str:
    # people paste these into YAML, where 1e-05 is a text
    if isinstance(value, float):
        return decimals(value)
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, list) else repr(value)
