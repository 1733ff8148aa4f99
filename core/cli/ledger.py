"""``countersign ledger list|show|check|export|append``: the record of who registered, proposed and decided what."""
from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from core.canonical import parse_json
from core.cli import output
from core.cli.acting import check_free, read_file, remember_ledger, seen_ledger, write_file
from core.cli.options import DEFAULT_WORKSPACE, JsonOption, WorkspaceOption
from core.cli.sign import print_receipt
from core.errors import CountersignError, LedgerError
from core.persons.registry import Registry
from core.rounds.workspace import Workspace
from core.settings import SETTINGS
from core.signing.admission import check_entry
from core.signing.evidence import EvidenceStore
from core.signing.export import make_export, write_folder
from core.signing.heads import check_place, check_remembered
from core.signing.ledger import Ledger, LedgerEntry, LedgerView
from core.signing.signoff import append_signed
from core.signing.status import describe
from core.signing.words import sentences
from core.text import shortened

_SHOWN: Final[int] = SETTINGS["display"]["digest_characters"]
_COMMENT: Final[int] = SETTINGS["text"]["label_characters"]

EntryArgument = Annotated[str, typer.Argument(metavar="ENTRY", help="An entry's index, or the beginning of its SHA-256.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="The ledger of registrations, proposals and decisions.", no_args_is_help=True)
    for command in (list_command, show_command, check_command, export_command, append_command):
        group.command(command.__name__.removesuffix("_command"))(command)
    app.add_typer(group, name="ledger")


def find_entry(view: LedgerView, text: str) -> LedgerEntry:
    """The entry of an index or a unique beginning of its digest. Raises LedgerError ``unknown_entry``.

    A short number is an index and nothing else: that a digest begins with a 7 makes it no entry 7."""
    found = [entry for entry in view.entries if text == str(entry.index)]
    if text and not (text.isdecimal() and len(text) < _SHOWN):
        found = found or [entry for entry in view.entries if entry.digest.startswith(text)]
    if len(found) != 1:
        got = f"{text!r}, which {'more than one entry has' if found else 'no entry has'}"
        raise LedgerError("unknown_entry", expected="an entry's index, or the beginning of its digest", got=got, remedy="see countersign ledger list")
    return found[0]


def list_command(workspace: WorkspaceOption = DEFAULT_WORKSPACE, as_json: JsonOption = False) -> None:
    """List the entries in their order."""
    view = seen_ledger(Ledger(Workspace.open(workspace).ledger_file))
    if as_json:
        head = None if view.origin is None else view.head.as_dict()
        output.document({"head": head, "torn_bytes": view.torn, "entries": [describe(entry) for entry in view.entries]})
        return
    if not view.entries:
        output.line("The ledger is empty. Propose a round: countersign propose ROUND")
        return
    output.table(("entry", "at", "kind", "by", "about", "says", "sha256"), map(_row, view.entries), right=("entry",))
    output.facts([("ledger", view.head.origin), ("entries", view.size), ("root", view.root)])
    if view.torn:
        output.line(f"warning: {view.torn} bytes of a torn line at the end; the next append cuts them", "held")


def _row(entry: LedgerEntry) -> tuple[output.Cell, ...]:
    predicate = entry.statement.predicate
    about = predicate.get("round_id") or str(predicate.get("holdout_sha256"))[:_SHOWN]
    says = predicate.get("decision") or ""
    if predicate.get("comment"):
        says = f"{says}: {shortened(predicate['comment'], _COMMENT)}"
    return entry.index, predicate["issuedAt"], entry.kind, entry.statement.signer, about, says, entry.digest[:_SHOWN]


def show_command(entry: EntryArgument, workspace: WorkspaceOption = DEFAULT_WORKSPACE, as_json: JsonOption = False) -> None:
    """Show one entry: what it says, and who signed it."""
    found = find_entry(seen_ledger(Ledger(Workspace.open(workspace).ledger_file)), entry)
    if as_json:
        output.document({**describe(found), "statement_sha256": found.statement.digest, "statement": parse_json(found.statement.payload)})
        return
    for sentence in sentences(found.statement):
        output.line(sentence)
    output.facts([
        ("entry", found.index), ("kind", found.kind), ("envelope", found.digest), ("statement", found.statement.digest),
        ("key", found.envelope.signature.keyid), ("issued", found.statement.predicate["issuedAt"]),
    ])


def check_command(
    forget: Annotated[bool, typer.Option("--forget", help="Another ledger is here on purpose: remember this one from now on.")] = False,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE, as_json: JsonOption = False,
) -> None:
    """Check the chain, the head seen last, and every signature under the registry. Exit 5 where something does not hold."""
    place = Workspace.open(workspace)
    ledger, registry = Ledger(place.ledger_file), Registry.load(place.registry_file)
    view = ledger.read()
    check_remembered(view)
    if not forget:
        check_place(view, ledger.file)
    failing = [(entry, problem) for entry in view.entries if (problem := _problem(entry, registry)) is not None]
    remember_ledger(view, ledger.file, replace=forget)
    if as_json:
        output.document(_check_document(view, registry, failing))
    else:
        _print_check(view, registry, failing)
    if failing:
        raise typer.Exit(failing[0][1].exit_code)


def _problem(entry: LedgerEntry, registry: Registry) -> CountersignError | None:
    """Why an entry does not hold under this registry, at its time of issue and place."""
    try:
        check_entry(entry, registry)
    except CountersignError as problem:
        return problem
    return None


def _check_document(view: LedgerView, registry: Registry, failing: list[tuple[LedgerEntry, CountersignError]]) -> dict[str, Any]:
    return {
        "head": None if view.origin is None else view.head.as_dict(), "torn_bytes": view.torn, "registry_digest": registry.digest,
        "failing": [{"index": entry.index, **problem.as_dict()} for entry, problem in failing],
    }


def _print_check(view: LedgerView, registry: Registry, failing: list[tuple[LedgerEntry, CountersignError]]) -> None:
    for entry, problem in failing:
        output.line(f"entry {entry.index}: {problem}", "refuse")
    if view.torn:
        output.line(f"warning: {view.torn} bytes of a torn line at the end; the next append cuts them", "held")
    output.facts([("entries", view.size), ("root", view.root), ("registry", registry.digest)])
    if failing:
        output.line(f"{len(failing)} of {view.size} entries do not hold under this registry.", "refuse")
    else:
        output.line("The chain is whole, and every signature holds under this registry.", "pass")


def export_command(
    entry: EntryArgument,
    out: Annotated[Path | None, typer.Option("--out", help="A .zip file, or a folder to write to; otherwise a zip file here.")] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE, as_json: JsonOption = False,
) -> None:
    """Write a decision with its proposal, receipt and admitted pairs, for others to verify."""
    place = Workspace.open(workspace)
    view = seen_ledger(Ledger(place.ledger_file))
    export = make_export(view, find_entry(view, entry), EvidenceStore.beside(place.ledger_file))
    target = Path(export.file_name) if out is None else out
    if target.suffix == ".zip":
        write_file(target, export.zip_bytes())
    else:
        check_free(target)
        write_folder(export, target)
    if as_json:
        output.document({"export": str(target), "index": export.index, "envelope_sha256": export.decision.digest})
        return
    output.line(f"Exported entry {export.index} to {target}.", "strong")
    output.line(f"Anybody with the registry, the round and the ledger can check it: countersign verify {target} --registry R --round DIR --ledger L")


def append_command(
    receipt: Annotated[Path, typer.Argument(metavar="RECEIPT", help="A receipt that was signed elsewhere over a statement prepared here.")],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE, as_json: JsonOption = False,
) -> None:
    """Record a receipt that was signed on another machine."""
    place, now = Workspace.open(workspace), datetime.now(UTC)
    registry, ledger = Registry.load(place.registry_file), Ledger(place.ledger_file)
    seen_ledger(ledger)
    signed = append_signed(place, read_file(receipt), registry, now)
    remember_ledger(ledger.read(), ledger.file)
    print_receipt(place, signed, registry, now, as_json=as_json)
