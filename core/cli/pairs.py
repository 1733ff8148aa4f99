"""``countersign pairs``: graded rollouts into the rows of a round's ``pairs`` part."""
from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from core.canonical import file_digest
from core.cli import output
from core.cli.contamination import RULE_WORDS, print_gaps
from core.cli.ingest import print_notes
from core.cli.options import JsonOption
from core.cli.out_files import refuse_existing, written
from core.errors import EXIT, RoundError, Where
from core.gates.length_direction import pairing_document
from core.gates.rollout_report import holdout_in
from core.grid import Grid, default_grid, load_grid
from core.pairs.held_out import HeldOut
from core.pairs.pairing import REASONS, Pairing, PairingRules, pair_rollouts
from core.pairs.pairing_report import LENGTH_UNIT, PairingReport, reason_text
from core.pairs.pairing_rows import pair_rows
from core.rounds.locked_file import ItemFile, read_items
from core.rounds.note import Note
from core.rounds.readers.format import Declared
from core.rounds.readers.rollout_gaps import nothing_usable
from core.rounds.readers.rollouts import Rollout, read_rollouts
from core.rounds.rollout_faults import REASONS as FAULTS
from core.statistics.ratio import Ratio, decimal_text, fraction_text
from core.text import count_of

_NONE = "no pairs"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("pairs")(pairs_command)


def pairs_command(
    rollouts: Annotated[
        Path, typer.Argument(metavar="ROLLOUTS", help="Graded rollouts: JSONL, JSON, CSV, Parquet or Arrow, packed (.gz, .zst) or not."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The .jsonl file to write: the pairs part of a round folder.")],
    options: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="KEY=VALUE", help="How the file is to be read, reward=strict for one; may be given more than once."),
    ] = None,
    policy: Annotated[str | None, typer.Option("--policy", metavar="NAME", help="Pair the rollouts of this policy only.")] = None,
    holdout: Annotated[
        Path | None, typer.Option("--holdout", metavar="FILE", help="The locked holdout: pairs made of its items are flagged."),
    ] = None,
    left_out: Annotated[
        list[str] | None, typer.Option("--leave-out", metavar="MEMBER", help="A member of the holdout's items that is not looked at; repeatable."),
    ] = None,
    holdout_grader: Annotated[
        list[str] | None,
        typer.Option("--holdout-grader", metavar="NAME", help="A grader or source that scores the holdout: its rewards are flagged; repeatable."),
    ] = None,
    grid: Annotated[Path | None, typer.Option("--grid", metavar="FILE", help="A grid file instead of the default grid.")] = None,
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Also write the report as JSON.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Pair passing with failing rollouts of the same task, matched in length, and report what a reviewer should know about them."""
    _check_files([rollouts, *(path for path in (holdout, grid) if path is not None)], out, report, force=force)
    rules, declared = stated_grid(grid), read_options(options or [])
    items = None if holdout is None else read_items(holdout, left_out or ())
    held_out, notes = _held_out(items, rules, left_out or (), holdout_grader or ()), list[Note]()
    with output.progress(quiet=as_json) as progress, ExitStack() as files:
        pairing = pair_rollouts(
            streamed(rollouts, declared, notes), PairingRules.from_grid(rules), policy=policy, held_out=held_out, progress=progress,
        )
        if not pairing.usable:
            raise nothing_usable(Declared(rollouts, rollouts.name, declared, []), pairing.rows, pairing.unused, {**REASONS, **FAULTS}, policy)
        summary = None if report is None else files.enter_context(written(report, force=force))
        digest = None
        if pairing.pairs:
            digest = _write(files.enter_context(written(out, force=force)), pairing, streamed(rollouts, declared, []))
        found = PairingReport.of(pairing)
        document = {
            **pairing_document(found, rules), "why_no_pairs": None if pairing.pairs else found.why_none,
            "grid_digest": rules.digest, "policy": policy, "out_sha256": digest, "rollouts_sha256": file_digest(rollouts),
            "holdout": None if items is None else {"name": items.name, "sha256": items.sha256, **(holdout_in(held_out) or {})},
            "notes": [note.document() for note in notes],
        }
        if summary is not None:
            summary.write((json.dumps(document, ensure_ascii=True, indent=1, allow_nan=False) + "\n").encode())
    output.document(document) if as_json else _print(found, out, document, notes)
    if not pairing.pairs:
        raise typer.Exit(EXIT["refused"])


def _check_files(read: Sequence[Path], out: Path, report: Path | None, *, force: bool) -> None:
    """Before anything is read: what is written is no file that is read, nor the other one, and none that would be replaced unasked."""
    writes = [path for path in (out, report) if path is not None]
    names = [path.resolve() for path in writes]
    if len(set(names)) < len(names) or {path.resolve() for path in read} & set(names):
        raise typer.BadParameter("the pairs and the report are files of their own, beside those that are read", param_hint="--out, --report")
    for path in writes:
        refuse_existing(path, force=force)


def stated_grid(path: Path | None) -> Grid:
    """The grid of a file, or the default grid."""
    return default_grid() if path is None else load_grid(path)


def read_options(given: Sequence[str]) -> dict[str, str]:
    """Options of a format from the command line."""
    options: dict[str, str] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not name or not equals:
            raise typer.BadParameter(f"{item!r} is not KEY=VALUE", param_hint="--option")
        if name in options:
            raise typer.BadParameter("the same key twice", param_hint="--option")
        options[name] = value
    return options


def streamed(path: Path, options: dict[str, str], notes: list[Note]) -> Iterator[Rollout]:
    """The rollouts of a file, one by one; a file that cannot be opened is a RoundError."""
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "a folder")
        yield from read_rollouts(Declared(path, path.name, options, notes))
    except OSError as problem:
        raise RoundError(
            "cannot_read", expected="a file of rollouts that can be read", got=problem.strerror or "an unreadable file",
            remedy="check the path and its permissions", where=Where(str(path)),
        ) from problem


def _held_out(items: ItemFile | None, grid: Grid, left_out: Sequence[str], graders: Sequence[str]) -> HeldOut:
    if items is None:
        return HeldOut(graders=graders)
    return HeldOut.of_items(
        items.items, grid.integer("contamination_ngram_words"), grid.fraction("contamination_coverage"), left_out=left_out, graders=graders,
    )


def _write(file: IO[bytes], pairing: Pairing, replies: Iterator[Rollout]) -> str:
    """Write the rows; the SHA-256 of what was written."""
    digest = hashlib.sha256()
    for row in pair_rows(pairing, replies):
        line = (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")
        file.write(line)
        digest.update(line)
    return digest.hexdigest()


def _print(found: PairingReport, out: Path, document: dict[str, Any], notes: list[Note]) -> None:
    pairing, holdout = found.pairing, document["holdout"]
    used = pairing.rows - sum(pairing.unused.values())
    if pairing.pairs:
        output.line(f"{count_of(len(pairing.pairs), 'pair')} written to {out}.", "strong")
    else:
        output.line(f"No pairs: {found.why_none}. Nothing was written to {out}.", "refuse")
    rows: list[tuple[output.Cell, ...]] = [(reason_text(code, FAULTS), count) for code, count in sorted(pairing.unused.items())]
    output.table(("where the rollouts went", "rollouts"), [("in a pair", used), *rows, ("in all", pairing.rows)], right=("rollouts",))
    output.line()
    output.facts([
        ("tasks seen", str(pairing.tasks_seen)), ("tasks with a pass and a fail far enough apart", str(pairing.tasks_with_contrast)),
        *(_pair_facts(found, document["length"]["direction"]["words"]) if pairing.pairs else ()),
    ])
    if pairing.pairs:
        output.line("The rows say that both sides are verified: that a program graded them is the claim of whoever proposes the round.")
    if holdout is not None:
        _print_holdout(holdout)
    for one in document["warnings"]:
        output.line(f"warning [{one['code']}] {one['text']}", "held")
    print_notes(notes)


def _pair_facts(found: PairingReport, direction: str) -> list[tuple[str, output.Cell]]:
    pairing, length = found.pairing, found.length
    return [
        ("length", LENGTH_UNIT), ("chosen is longer", fraction_text(Ratio(length.chosen_longer, length.pairs, None if length.pairs else _NONE))),
        ("chosen longer, rejected longer", direction),
        ("length difference, median and mean", f"{_text(length.median)} and {_text(length.mean)}"),
        ("length difference, in all", f"{length.total:,}"), ("mean difference of rewards", _text(found.mean_margin)),
        ("pairs with partial scores", str(found.partial_score_pairs)),
        ("pairs of one policy, of two", f"{found.same_policy_pairs} and {found.mixed_policy_pairs}"),
        ("graders named", ", ".join(f"{name} ({count:,})" for name, count in sorted(pairing.graders.items())) or "none"),
        ("pairs whose first turns differ", str(found.trainer_pairs)), ("pairs with a reward of the holdout", str(found.eval_sourced)),
        ("pairs without all four log-probs", str(found.without_log_probs)),
    ]


def _print_holdout(holdout: dict[str, Any]) -> None:
    hit, rollouts = len(holdout["items_in_rollouts"]), holdout["rollouts_held_out"]["items"]
    output.line(
        f"Holdout {holdout['name']}: {hit:,} of {count_of(holdout['items'], 'item')} {'is' if hit == 1 else 'are'} in "
        f"{count_of(rollouts, 'rollout')}, by task id or prompt.",
        "held" if hit else None,
    )
    for skipped in holdout["skipped"]:
        output.line(f"Not applied, {RULE_WORDS[skipped['rule']]}: {skipped['why']}.")
    print_gaps(holdout["not_judged"], holdout["not_looked_for"])


def _text(value: Any) -> str:
    return _NONE if value is None else decimal_text(value)
