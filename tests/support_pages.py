"""Workspaces for the tests of the pair pages: two real demo rounds, the worked example, and a small round with bad rows."""
from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from support_rounds import WORKED_EXAMPLE, folder_of, pair

from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace

ROOT = Path(__file__).resolve().parents[1]
NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
HOSTILE = "![pixel](http://127.0.0.1:9/x.png) <img src=x onerror=alert(1)> \u202eevil\u202c \x1b[31m"


def awkward_rows() -> list[object]:
    """Pairs of every state but held, with a row that cannot be typed, two that share an id, and hostile texts."""
    return [
        pair(pair_id="good", prompt="Name a colour.", chosen="Blue.", rejected="Seven."),
        pair(pair_id="copy", prompt="name a  colour.", chosen="Green.", rejected="Eight.", ref_logp_chosen=-21.0),
        pair(pair_id="hostile", prompt=HOSTILE, chosen=f"a {HOSTILE}", rejected=f"b {HOSTILE}", policy_logp_chosen=-40.0),
        pair(pair_id="space", prompt="Spaces?", chosen="Use a lock.", rejected="Use  a lock.", policy_logp_chosen=-40.0),
        pair(pair_id="script", prompt="Is p\u0430ypal safe?", chosen="Yes.", rejected="No.", policy_logp_chosen=-40.0),
        pair(pair_id="twin", prompt="One.", chosen="1", rejected="2"), pair(pair_id="twin", prompt="Two.", chosen="3", rejected="4"),
        pair(pair_id="broken", chosen_token_count="many"),
    ]


def invalid_rows() -> list[object]:
    """Pairs of which none has figures."""
    return [pair(pair_id="same", chosen="Yes.", rejected="Yes."), pair(pair_id="none", policy_logp_chosen=None)]


def cut_rows() -> list[object]:
    """Two pairs that share 12 characters: the one goes on after them on both sides, the other ends there on one; and a third that differs."""
    return [
        pair(pair_id="late", prompt="Which?", chosen="The lock is held.", rejected="The lock is free."),
        pair(pair_id="ends", prompt="What?", chosen="The lock is up again.", rejected="The lock is "),
        pair(pair_id="early", prompt="Why?", chosen="A thread waits.", rejected="No reason."),
    ]


MADE = {"awkward": awkward_rows, "invalid": invalid_rows, "no-rows": list, "cut": cut_rows}
DECLARED = {"cut": {"training_cutoff": {"length": 12, "counts": "completion_characters"}}}


def workspace_of(folder: Path, *names: str) -> Workspace:
    """A workspace with demo rounds by name; ``worked-example`` and those of MADE are made here."""
    workspace = Workspace.open(folder / "workspace", create=True)
    for name in names:
        if name in MADE:
            about = {"schema_version": 1, "round_id": name, "proposers": ["worker-curator-01"], **DECLARED.get(name, {})}
            source = folder_of(folder / name, {"pairs": MADE[name]()}, about=about)
        elif name == "worked-example":
            source = WORKED_EXAMPLE
        else:
            source = ROOT / "data" / "rounds" / name
        ingest(source, workspace, round_id=name, now=NOW)
    return workspace
