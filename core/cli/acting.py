"""Shared by the commands that sign: who acts, with which key, and the ledger's head as it was seen last."""
from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from core.canonical import ErrorMaker
from core.cli import output
from core.errors import CountersignError, LedgerError, ReceiptError, SignatureError, Where
from core.files import write_new
from core.persons.registry import Registry
from core.signing.agent import AgentSigner
from core.signing.heads import check_place, check_remembered, remember
from core.signing.keys import FileSigner
from core.signing.ledger import Ledger, LedgerView

PHRASE_VARIABLE: Final = "COUNTERSIGN_PASSPHRASE"
"""Environment variable that a script may put the passphrase in."""

PersonOption = Annotated[str | None, typer.Option("--as", metavar="ID", help="Who acts; left out, the person whose key signs.")]
KeyOption = Annotated[Path | None, typer.Option("--key", help="Your encrypted OpenSSH key file.", dir_okay=False)]
AgentOption = Annotated[bool, typer.Option("--agent", help="Sign with your enrolled key that the ssh-agent holds.")]
PassphraseOption = Annotated[
    Path | None, typer.Option("--passphrase-file", help=f"File whose first line is the passphrase; otherwise ${PHRASE_VARIABLE}, or asked for."),
]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask before signing.")]


def read_file(path: Path, error: ErrorMaker = ReceiptError) -> bytes:
    """A file that the command line names. Raises ``error`` with ``unreadable_file``."""
    try:
        return path.read_bytes()
    except OSError as problem:
        fault: CountersignError = error(
            "unreadable_file", expected="a file that can be read", got=problem.strerror or "an error", remedy="check the path",
            where=Where(path.name),
        )
        raise fault from problem


def check_free(path: Path | None) -> None:
    """Refuse a name that is taken before anything is signed."""
    if path is not None and (path.exists() or not path.parent.is_dir()):
        raise typer.BadParameter(f"{path} is taken, or its folder is missing: choose another path")


def write_file(path: Path, data: bytes) -> None:
    """Write a new file that the command line names."""
    try:
        write_new(path, data)
    except OSError as problem:
        raise typer.BadParameter(f"{path} cannot be written: {problem.strerror or 'an error'}") from problem


def passphrase(file: Path | None, *, confirm: bool = False) -> str:
    """The passphrase from a file, the environment or a prompt; never from the command line, which others can see."""
    if file is not None:
        try:
            lines = file.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            raise typer.BadParameter(f"the passphrase file {file.name} cannot be read ({type(problem).__name__})") from problem
        return lines[0] if lines else ""
    stated = os.environ.get(PHRASE_VARIABLE)
    if stated is not None:
        return stated
    if not sys.stdin.isatty():
        raise typer.BadParameter(f"no terminal to ask for the passphrase: use --passphrase-file or ${PHRASE_VARIABLE}")
    return str(typer.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True))


def open_signer(
    key: Path | None, agent: bool, passphrase_file: Path | None, registry: Registry | None, person: str | None,
) -> FileSigner | AgentSigner:
    """The signer that the options name. With ``--agent``: the agent's key among those enrolled for the person (or for anybody)."""
    if agent == (key is not None):
        raise typer.BadParameter("say how you sign: either --key FILE or --agent")
    if key is not None:
        return FileSigner.open(key, passphrase(passphrase_file))
    if registry is None:
        raise typer.BadParameter("--agent needs --registry, to know which of the agent's keys is yours")
    named = None if person is None else registry.find(person)
    holders = registry.persons if person is None else (() if named is None else (named,))
    return AgentSigner.choose(frozenset(item.keyid for holder in holders for item in holder.keys))


def acting_person(registry: Registry, person: str | None, signer: FileSigner | AgentSigner) -> str:
    """The id named with ``--as``, or that of the key's owner. Raises SignatureError ``unknown_key``, ``anothers_key``."""
    found = registry.by_keyid(signer.public.keyid)
    if found is None:
        raise SignatureError("unknown_key", expected="a key that the registry names", got=signer.public.keyid, remedy="enrol it, or use another key")
    named = found[0] if person is None else registry.find(person)
    if named is not None and named.id != found[0].id:
        raise SignatureError("anothers_key", expected=f"a key of {named.id}", got=f"{signer.public.keyid}, a key of {found[0].id}",
                             remedy="each person signs with their own key")
    return found[0].id if person is None else person


def seen_ledger(ledger: Ledger) -> LedgerView:
    """The ledger, compared with the head seen last and remembered. Another ledger in this place is remarked upon."""
    view = ledger.read()
    check_remembered(view)
    try:
        check_place(view, ledger.file)
    except LedgerError as problem:
        output.note(f"warning: {problem}")
    remember_ledger(view, ledger.file)
    return view


def remember_ledger(view: LedgerView, file: Path | None, *, replace: bool = False) -> None:
    """Keep the head for the next visit; ``replace`` also where another ledger was at this place."""
    if not remember(view, file, replace=replace):
        output.note("note: the ledger's head could not be remembered (state folder not writable)")


def confirmed(yes: bool) -> None:
    """Ask before signing, unless told not to. A plain 'no' stops with exit 130."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("no terminal to ask on: read the sentences, then repeat with --yes")
    typer.confirm("Sign this?", abort=True, err=True)
