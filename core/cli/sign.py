"""``countersign lock``, ``propose`` and ``sign``: the commands that put a signature into the ledger."""
from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from core.canonical import sha256_hex
from core.cli import output
from core.cli.acting import (
    AgentOption,
    KeyOption,
    PassphraseOption,
    PersonOption,
    YesOption,
    acting_person,
    check_free,
    confirmed,
    open_signer,
    read_file,
    remember_ledger,
    seen_ledger,
    write_file,
)
from core.cli.options import DEFAULT_WORKSPACE, JsonOption, RoundArgument, WorkspaceOption
from core.errors import RoundError, Where
from core.gates.confirmed import confirmed_assessment
from core.grid import default_grid, load_grid
from core.persons.registry import Registry
from core.rounds.workspace import Workspace
from core.signing.admission import Rules, status_of
from core.signing.dsse import seal
from core.signing.grids import AcceptedGrids
from core.signing.ledger import Ledger
from core.signing.propose import lock_holdout, propose
from core.signing.signoff import Choice, Prepared, SignedReceipt, prepare, sign_and_append
from core.signing.statement import PAYLOAD_TYPE, parse_statement
from core.signing.status import describe, round_status
from core.signing.words import sentences


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("lock")(lock_command)
    app.command("propose")(propose_command)
    app.command("sign")(sign_command)


def lock_command(
    holdout: Annotated[Path, typer.Argument(metavar="HOLDOUT", help="The holdout: a JSON list of items with ids.")],
    person: PersonOption = None, key: KeyOption = None, agent: AgentOption = False, passphrase_file: PassphraseOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE, as_json: JsonOption = False,
) -> None:
    """Register a holdout in the ledger, so that it is witnessed before a round is proposed."""
    place, now = Workspace.open(workspace, create=True), datetime.now(UTC)
    data, registry, ledger = read_file(holdout, RoundError), Registry.load(place.registry_file), Ledger(place.ledger_file)
    seen_ledger(ledger)
    signer = open_signer(key, agent, passphrase_file, registry, person)
    entry = lock_holdout(place, data, acting_person(registry, person, signer), signer, registry, now, file=holdout.name)
    remember_ledger(ledger.read(), ledger.file)
    digest = entry.statement.predicate["holdout_sha256"]
    if as_json:
        output.document(describe(entry))
        return
    output.line(f"Registered {entry.statement.predicate['items']} items: ledger entry {entry.index}.", "strong")
    output.facts([("holdout", digest), ("by", entry.statement.signer)])
    output.line(f"Put this digest into holdout_lock of the round: {digest}")


def propose_command(
    selector: RoundArgument,
    grid: Annotated[Path | None, typer.Option("--grid", help="The grid that is to decide; otherwise the default grid.")] = None,
    person: PersonOption = None, key: KeyOption = None, agent: AgentOption = False, passphrase_file: PassphraseOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE, as_json: JsonOption = False,
) -> None:
    """Propose a round for review. Signed by one of its proposers, and recorded in the ledger."""
    place, now = Workspace.open(workspace), datetime.now(UTC)
    source, registry, ledger = place.round(selector), Registry.load(place.registry_file), Ledger(place.ledger_file)
    rules = default_grid() if grid is None else load_grid(grid)
    seen_ledger(ledger)
    signer = open_signer(key, agent, passphrase_file, registry, person)
    entry = propose(place, source, rules, acting_person(registry, person, signer), signer, registry, now)
    remember_ledger(ledger.read(), ledger.file)
    if as_json:
        output.document(describe(entry))
        return
    output.line(f"Proposed round {source.manifest.round_id}: ledger entry {entry.index}.", "strong")
    output.facts([("round", source.digest), ("grid", f"{rules.name} version {rules.version} {rules.digest}"), ("by", entry.statement.signer)])
    output.line("It awaits a reviewer who is none of its proposers.")


def sign_command(
    statement: Annotated[Path | None, typer.Argument(metavar="STATEMENT", help="A statement to sign here, prepared elsewhere.")] = None,
    selector: Annotated[str | None, typer.Option("--round", metavar="ROUND", help="Prepare, sign and record a decision on this round.")] = None,
    approve: Annotated[bool, typer.Option("--approve", help="Approve: its pairs may train, its candidate replaces the baseline.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Reject it.")] = False,
    comment: Annotated[str, typer.Option("--comment", help="Why; part of what is signed.")] = "",
    prepare_only: Annotated[bool, typer.Option("--prepare-only", help="With --round: write the statement to --out, to be signed elsewhere.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Where to write the signed receipt, or the prepared statement.", dir_okay=False)] = None,
    registry_file: Annotated[Path | None, typer.Option("--registry", help="With STATEMENT and --agent: which keys are yours.")] = None,
    person: PersonOption = None, key: KeyOption = None, agent: AgentOption = False, passphrase_file: PassphraseOption = None,
    yes: YesOption = False, workspace: WorkspaceOption = DEFAULT_WORKSPACE, as_json: JsonOption = False,
) -> None:
    """Sign a decision: here and now (--round), or a STATEMENT that was prepared elsewhere (the high-assurance path)."""
    if (statement is None) == (selector is None):
        raise typer.BadParameter("name either a STATEMENT or a round with --round")
    check_free(out)
    if statement is not None:
        registry = None if registry_file is None else Registry.load(registry_file)
        _sign_elsewhere(statement, out, open_later=lambda: open_signer(key, agent, passphrase_file, registry, person), yes=yes, as_json=as_json)
        return
    if approve == reject:
        raise typer.BadParameter("say either --approve or --reject")
    place, now = Workspace.open(workspace), datetime.now(UTC)
    registry, ledger = Registry.load(place.registry_file), Ledger(place.ledger_file)
    seen_ledger(ledger)
    signer = None if prepare_only else open_signer(key, agent, passphrase_file, registry, person)
    if signer is None and person is None:
        raise typer.BadParameter("--prepare-only needs --as ID: who is going to sign")
    who = person if signer is None else acting_person(registry, person, signer)
    prepared = _prepare(place, str(selector), str(who), "approve" if approve else "reject", comment, registry, now, quiet=as_json)
    if signer is None:
        _write_prepared(prepared, out, as_json=as_json)
        return
    if not as_json:
        _show(prepared)
    confirmed(yes)
    receipt = sign_and_append(place, prepared.digest, signer, registry, datetime.now(UTC))
    remember_ledger(ledger.read(), ledger.file)
    if out is not None:
        write_file(out, receipt.entry.line)
    print_receipt(place, receipt, registry, now, as_json=as_json)


def _prepare(
    place: Workspace, selector: str, who: str, choice: Choice, comment: str, registry: Registry, now: datetime, *, quiet: bool,
) -> Prepared:
    source = place.round(selector)
    status = round_status(Ledger(place.ledger_file).read(), source.digest)
    grids = AcceptedGrids.of(place)
    grid = default_grid() if status.proposal is None else grids.grid(status.proposal.statement.predicate["grid_digest"])
    with output.progress(quiet=quiet) as progress:
        assessment = confirmed_assessment(place, source, grid, lambda done, total: progress("pairs", done, total))
    return prepare(place, source, assessment, who, choice, comment, registry, now)


def _show(prepared: Prepared) -> None:
    for sentence in prepared.sentences:
        output.line(sentence)
    for warning in prepared.warnings:
        output.line(f"Warning: {warning}", "held")
    output.facts([("statement", prepared.digest), ("expires", prepared.statement.predicate["expiresAt"])])


def _write_prepared(prepared: Prepared, out: Path | None, *, as_json: bool) -> None:
    if out is None:
        raise typer.BadParameter("--prepare-only needs --out FILE")
    write_file(out, prepared.payload)
    if as_json:
        output.document({"statement": str(out), "statement_sha256": prepared.digest, "expires_at": prepared.statement.predicate["expiresAt"]})
        return
    _show(prepared)
    output.line(f"Sign it where your key is: countersign sign {out.name} --key KEY, then record it here: countersign ledger append FILE")


def _sign_elsewhere(path: Path, out: Path | None, *, open_later: Any, yes: bool, as_json: bool) -> None:
    """Sign exactly the bytes of a file, after saying what they mean."""
    statement = parse_statement(read_file(path), where=Where(path.name))
    if not as_json:
        for sentence in sentences(statement):
            output.line(sentence)
        output.facts([("statement", sha256_hex(statement.payload)), ("expires", statement.predicate["expiresAt"])])
    target = path.with_suffix(".signed.json") if out is None else out
    check_free(target)
    confirmed(yes)
    envelope = seal(PAYLOAD_TYPE, statement.payload, open_later())
    write_file(target, envelope.encoded)
    if as_json:
        output.document({"receipt": str(target), "envelope_sha256": envelope.digest, "keyid": envelope.signature.keyid, "recorded": False})
        return
    output.line(f"Signed: {target}. It counts once it is in the ledger: upload it, or countersign ledger append {target.name}", "strong")


def print_receipt(place: Workspace, receipt: SignedReceipt, registry: Registry, now: datetime, *, as_json: bool) -> None:
    """What was recorded, and where the round stands now."""
    entry = receipt.entry
    digest = entry.statement.round_digest
    status = None if digest is None else status_of(Ledger(place.ledger_file).read(), digest, Rules(registry, AcceptedGrids.of(place), now))
    if as_json:
        output.document({**describe(entry), "repeated": receipt.repeated, "status": None if status is None else status.as_dict()})
        return
    output.line(f"{'Was recorded already' if receipt.repeated else 'Recorded'}: ledger entry {entry.index}.", "strong")
    # two digests that are never mixed up: of the 17 fields that an export and its card name, and of what was signed and recorded
    written = entry.statement.predicate.get("receipt_sha256")
    output.facts([
        *([] if written is None else [("receipt", written)]), ("envelope", entry.digest),
        ("signed by", f"{entry.statement.signer} with {entry.envelope.signature.keyid}"),
    ])
    if status is not None:
        output.line(f"The round is now: {status.words}")
    output.line(f"Hand it on with: countersign ledger export {entry.index} --out FILE.zip")
