"""A small round whose pairs hold its holdout in every way and in every state, and rounds that lack something.

Words of the locked texts: ASK 14, ANSWER 14, TASK 9, OTHER 12. Runs of 8 words are looked for, and 0.8 of the words of either text.
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

from support_rounds import NOW, ROUND, folder_of, pair, workspace_at, write_json

from core.canonical import canonical_bytes, sha256_hex
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace

ASK = "Please cancel order A1002 and refund the card that was used for it today"
ANSWER = "The refund was sent to the card that was used for the order today"
TASK = "Compute the residual lookup distances for product quantization tables"
OTHER = "Write a haiku about the sea in winter with a red boat"
HOLDOUT: list[dict[str, Any]] = [
    {"id": "ask", "prompt": ASK, "answer": ANSWER}, {"id": "task", "prompt": TASK, "task_id": "T2"}, {"id": "haiku", "prompt": OTHER},
    {"id": "unused", "prompt": "Name the three longest rivers of the continent and the seas that they reach"},
]
SYSTEM = "You are a support agent for a small shop and must follow the written policy at all times."
LONG = "Here is the message of a customer, word for word, to be sorted by topic before lunch: {} Sort it into one of four folders, please."
COLLAPSED = {"policy_logp_chosen": -40.0}
"""The chosen answer loses 18 nats over 20 tokens: rejected."""


def chat(*turns: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"role": role, "content": content} for role, content in turns]


def leaky_rows() -> list[dict[str, Any]]:
    """Seven pairs: four admitted (one clean), one held, two rejected. Answers differ in their structure, so that none is a duplicate."""
    return [
        pair(pair_id="clean", chosen="Three."),
        pair(pair_id="asked", prompt=f"{ASK.upper()}!", chosen="It is cancelled; the money is on its way."),
        pair(pair_id="answer", prompt="What now?", chosen=f"Sure. {ANSWER}. Anything else?"),
        pair(pair_id="chat", prompt=chat(("system", SYSTEM), ("user", ASK)), chosen=chat(("assistant", "Yes")), rejected=chat(("assistant", "No"))),
        pair(pair_id="held", prompt=OTHER, chosen="Snow on a red hull.\nThe sea.", origin="synthetic", judge_id="nobody"),
        pair(pair_id="within", prompt=LONG.format(ASK), chosen="Refunds, then!", **COLLAPSED),
        pair(pair_id="task", prompt="Distances?", chosen="- a table\n- a sum", scenario_id="T2", **COLLAPSED),
    ]


def clean_rows() -> list[dict[str, Any]]:
    return [pair(pair_id="one", chosen="Three."), pair(pair_id="two", prompt="Name a colour.", chosen="Blue, I think; it is a colour.")]


def stored(workspace: Workspace, place: Path, name: str, rows: list[dict[str, Any]] | None, items: list[dict[str, Any]] | None = None) -> Round:
    """A round with these pairs (None: without the part) against these items (None: without a holdout), registered under their digest."""
    about = ROUND | {"round_id": name} | ({} if items is None else {"holdout_lock": {"sha256": sha256_hex(canonical_bytes(items))}})
    parts = {"sanity": [{"id": "s", "passed": True}]} if rows is None else {"pairs": rows}
    source = folder_of(place / name, parts, about=about)
    if items is not None:
        write_json(source, "holdout", items)
    return workspace.round(ingest(source, workspace, now=NOW).digest)


def leaky_workspace(place: Path) -> Workspace:
    """``leaky``, ``clean``, ``no-holdout``, ``no-pairs`` and ``no-rows``."""
    workspace = workspace_at(place)
    stored(workspace, place, "leaky", leaky_rows(), HOLDOUT)
    stored(workspace, place, "clean", clean_rows(), HOLDOUT)
    stored(workspace, place, "no-holdout", clean_rows())
    stored(workspace, place, "no-pairs", None, HOLDOUT)
    stored(workspace, place, "no-rows", [], HOLDOUT)
    return workspace
