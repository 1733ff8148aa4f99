"""``countersign round list|show|check``: the rounds of a workspace."""
from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from core.cli import output
from core.cli.ingest import print_notes
from core.cli.options import DEFAULT_WORKSPACE, JsonOption, RoundArgument, WorkspaceOption
from core.pairs.templates import TemplateCluster
from core.rounds.folder import Round
from core.rounds.form import check_form
from core.rounds.inspection import SameTexts, answer_templates, extra_columns, mixed_script_prompts, same_texts
from core.rounds.manifest import Model, RoundManifest
from core.rounds.note import named
from core.rounds.notes import round_notes
from core.rounds.workspace import BrokenRound, Workspace
from core.schemas import OPTIONAL_PARTS, PARTS
from core.settings import SETTINGS
from core.text import count_of, first_of, shortened

_SHOWN: Final[int] = SETTINGS["display"]["digest_characters"]
_ROWS: Final[int] = SETTINGS["display"]["page_rows"]
_RAW: Final[int] = SETTINGS["text"]["label_characters"]
_NAMED: Final[int] = SETTINGS["display"]["named_ids"]
_NOT_STATED: Final = "not stated"


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="The rounds of a workspace.", no_args_is_help=True)
    group.command("list")(list_command)
    group.command("show")(show_command)
    group.command("check")(check_command)
    app.add_typer(group, name="round")


def list_command(workspace: WorkspaceOption = DEFAULT_WORKSPACE, as_json: JsonOption = False) -> None:
    """List the rounds, newest first; a folder that cannot be opened is named with its fault."""
    manifests, broken = Workspace.open(workspace).listing()
    if as_json:
        rounds = [{"round_digest": manifest.digest, **manifest.document()} for manifest in manifests]
        output.document({"rounds": rounds, "broken": [{"name": item.name, **item.error.as_dict()} for item in broken]})
        return
    if not manifests:
        output.line("No rounds yet. Ingest one: countersign ingest SOURCE")
    else:
        names = ("round", "digest", "created", "proposed by", "pairs", "quarantined", "label")
        output.table(names, map(_row, manifests), right=("pairs", "quarantined"))
    _print_broken(broken)


def _row(manifest: RoundManifest) -> tuple[output.Cell, ...]:
    pairs = manifest.files.get("pairs.parquet")
    return (
        manifest.round_id, manifest.digest[:_SHOWN], manifest.created_at, ", ".join(manifest.proposers), 0 if pairs is None else pairs.rows,
        manifest.files["quarantine.parquet"].rows, manifest.label or "",
    )


def _print_broken(broken: list[BrokenRound]) -> None:
    for item in broken:
        output.note(f"broken: {shortened(item.name, _RAW)}: {item.error}")


def show_command(
    selector: RoundArgument,
    limit: Annotated[int, typer.Option("--limit", min=0, help="How many quarantined rows are printed.")] = _ROWS,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """Show one round: what it states, its parts, notes, and the rows that ingest could not type."""
    source = Workspace.open(workspace).round(selector)
    notes, quarantined = round_notes(source), source.table("quarantine").slice(0, limit).to_pylist()
    if as_json:
        output.document({
            "round_digest": source.digest, "manifest": source.manifest.document(), "counts": _counts(source),
            "quarantined": source.quarantined_count, "notes": [note.document() for note in notes], "quarantine": quarantined,
        })
        return
    output.facts(_stated(source))
    output.line()
    counts: list[tuple[output.Cell, output.Cell]] = [
        (part.replace("_", " "), "not supplied" if rows is None else rows) for part, rows in _counts(source).items()
    ]
    output.table(("part", "rows"), [*counts, ("quarantined pair rows", source.quarantined_count)], right=("rows",))
    print_notes(notes)
    _print_quarantine(quarantined, source.quarantined_count)


def _counts(source: Round) -> dict[str, int | None]:
    """Rows of each part; None where one that a receipt needs was not supplied."""
    files = source.manifest.files
    names = {part: f"{part}.parquet" for part in (*PARTS, *filter(source.has, OPTIONAL_PARTS))} | {"holdout": "holdout.json"}
    return {part: files[name].rows if source.has(part) else None for part, name in names.items()}


def _stated(source: Round) -> list[tuple[str, output.Cell]]:
    manifest = source.manifest
    lock, judges = manifest.holdout_lock, manifest.receipt_judges
    return [
        ("round", output.Styled(manifest.round_id, "strong")), ("digest", source.digest), ("folder", str(source.path)),
        ("created", manifest.created_at), ("form", manifest.form), ("label", manifest.label or _NOT_STATED),
        ("proposed by", ", ".join(manifest.proposers)), ("reviewer named", manifest.reviewer or _NOT_STATED),
        *((name, _model(model)) for name, model in (
            ("baseline", manifest.baseline), ("candidate", manifest.candidate), ("policy", manifest.policy), ("reference", manifest.reference),
        )),
        ("holdout lock", _NOT_STATED if lock is None else lock.sha256 or '""'),
        ("registered", f"{(lock and lock.registered_at) or _NOT_STATED}, by {(lock and lock.registered_by) or _NOT_STATED}"),
        ("holdout digest", source.holdout_digest or "no holdout"), ("verification", manifest.verification),
        ("receipt judges", _NOT_STATED if judges is None else f"calibrated {judges.calibrated}, uncalibrated {judges.uncalibrated}"),
        *(() if manifest.pairing is None else (("pairs of rollouts", manifest.pairing.words()),)),
        *([] if manifest.cutoff is None else [("training cut-off", manifest.cutoff.words())]),
        ("previous receipt", manifest.previous_receipt_sha256 or _NOT_STATED), ("note", manifest.note or _NOT_STATED),
    ]


def _model(model: Model | None) -> str:
    return _NOT_STATED if model is None else f"{model.name} ({model.digest or 'digest not stated'})"


def _print_quarantine(rows: list[dict[str, Any]], total: int) -> None:
    if not rows:
        return
    output.line()
    output.table(
        ("file", "line", "field", "code", "expected", "raw"),
        [(row["file"], row["line"], row["field"], row["code"], row["expected"], shortened(row["raw"], _RAW)) for row in rows],
        title=f"Quarantined: {len(rows)} of {total}", right=("line",),
    )


def check_command(
    selector: RoundArgument,
    templates: Annotated[bool, typer.Option("--templates", help="Also list chosen answers that share a template; reads every answer.")] = False,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE, as_json: JsonOption = False,
) -> None:
    """Compare every file of a round with its digest (exit 6 where one differs), and list what deserves a second look."""
    source = Workspace.open(workspace).round(selector)
    with output.progress(quiet=as_json) as progress:
        source.verify_files(lambda done, total: progress("files", done, total))
        same = same_texts(source, lambda done, total: progress("pairs", done, total))
        clusters = answer_templates(source, lambda done, total: progress("answers", done, total)) if templates else None
    check_form(source)
    notes, extra, mixed = round_notes(source), extra_columns(source), mixed_script_prompts(source)
    if as_json:
        output.document({
            "round_digest": source.digest, "files": len(source.manifest.files), "extra_columns": extra, "mixed_script_prompts": mixed.count,
            "mixed_script_examples": [{"pair_id": pair_id, "words": list(words)} for pair_id, words in mixed.examples],
            "same_texts": same.document(), "notes": [note.document() for note in notes],
            "answer_templates": None if clusters is None else [
                {"template": cluster.template, "pairs": len(cluster.pair_ids), "pair_ids": list(cluster.pair_ids)} for cluster in clusters
            ],
        })
        return
    output.line(f"All {len(source.manifest.files)} files match the digests of round.json, and round.json matches {source.digest}.", "pass")
    for part, names in extra.items():
        output.line(f"note [extra_columns] {part}: kept in extra, used by no gate: {', '.join(names)}")
    if mixed.count:
        words = named(word for _, found in mixed.examples for word in found)
        output.line(f"note [mixed_scripts] {mixed.count} prompts hold words of mixed scripts ({words}); the first is pair {mixed.examples[0][0]}")
    _print_same(same)
    print_notes([note for note in notes if note.code != "extra_columns"])
    if clusters is not None:
        _print_templates(clusters)


def _print_same(same: SameTexts) -> None:
    if same.identical:
        said = f"{count_of(same.exact, 'pair has', 'pairs have')} two answers alike, {same.trimmed:,} more once outer white space is stripped"
        output.line(f"note [identical] {said}: {first_of(same.identical_ids, _NAMED, total=same.identical)}")
    if same.repeated:
        said = f"{count_of(same.repeated, 'pair repeats', 'pairs repeat')} the prompt of a pair before"
        output.line(f"note [repeated_prompts] {said}: {first_of(same.repeated_ids, _NAMED, total=same.repeated)}")


def _print_templates(clusters: list[TemplateCluster]) -> None:
    if not clusters:
        output.line("No two chosen answers share a template.")
        return
    rows = [(cluster.template, len(cluster.pair_ids), named(cluster.pair_ids)) for cluster in clusters[:_ROWS]]
    title = f"Chosen answers that share a template: {len(clusters)} clusters; nothing is rejected for it"
    output.table(("template", "pairs", "which"), rows, title=title, right=("pairs",))
