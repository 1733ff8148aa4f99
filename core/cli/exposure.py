"""``countersign exposure``: what earlier looks at a round's holdout cost."""
from __future__ import annotations

import typer

from core.cli import output
from core.cli.options import DEFAULT_WORKSPACE, GridOption, JsonOption, RoundArgument, WorkspaceOption, grid_for
from core.gates.exposure_report import HoldoutExposure, exposure_of
from core.rounds.workspace import Workspace
from core.signing.ledger import Ledger
from core.signing.lost_looks import lost_looks


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("exposure")(exposure_command)


def exposure_command(
    selector: RoundArgument,
    grid: GridOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """How often a round's holdout items were looked at, by content, and what that leaves of the error budget. Asking is no look."""
    place = Workspace.open(workspace)
    source, view = place.round(selector), Ledger(place.ledger_file).read()
    rules = grid_for(place, source, grid)
    found, lost = exposure_of(place, source, rules), lost_looks(place, view)
    if as_json:
        output.document({"round_digest": source.digest, "grid_digest": rules.digest, **found.as_dict(), "lost": lost})
        return
    _print(found)
    for line in lost:
        output.line(f"Warning: {line}", "refuse")


def _print(found: HoldoutExposure) -> None:
    first, *others = found.sentences
    output.line(first, "strong")
    for sentence in others:
        output.line(sentence)
    if found.earlier:
        rows = [(look.round_id, look.round_digest, look.verdict, look.shared, found.items) for look in found.earlier]
        output.table(("earlier round", "digest", "engine's verdict", "shared", "of"), rows, right=("shared", "of"))
    if found.whole_scores is not None and found.verdict_only is not None:
        output.facts([
            ("released scores may be off by", f"{found.whole_scores:.3f} (whole scores), {found.verdict_only:.3f} (verdicts only)"),
        ])
    if found.later:
        output.line(f"Looked at since by later rounds: {found.later:,}.")
    output.facts([("record of looks", f"{found.lines:,} lines, SHA-256 {found.record_sha256}")])
