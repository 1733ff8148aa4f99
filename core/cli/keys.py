"""``countersign keygen`` and ``enrol``: a key of one's own, and somebody else's merged into the registry."""
from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from core.cli import output
from core.cli.acting import PassphraseOption, check_free, passphrase, read_file, write_file
from core.cli.options import DEFAULT_WORKSPACE, JsonOption, WorkspaceOption
from core.errors import Where
from core.persons.identity import canonical_id
from core.persons.person import ROLES, Role
from core.rounds.workspace import Workspace
from core.settings import SETTINGS
from core.signing.enrolment import enrol, make_request, read_request
from core.signing.keys import FileSigner, make_key_file, slug


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("keygen")(keygen_command)
    app.command("enrol")(enrol_command)


def keygen_command(
    identifier: Annotated[str, typer.Option("--id", help="Your id, for example ana@example.org.")],
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the key; otherwise keys/ of the workspace.", file_okay=False)] = None,
    passphrase_file: PassphraseOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """Make an encrypted Ed25519 key and an enrolment request for it. Somebody else merges the request: countersign enrol."""
    person, now = canonical_id(identifier), datetime.now(UTC)
    folder = Workspace(workspace).keys_dir if out is None else out
    secret = passphrase(passphrase_file, confirm=True)
    folder.mkdir(mode=SETTINGS["storage"]["private_directory_mode"], parents=True, exist_ok=True)
    name = slug(person)  # the dashboard looks for a person's key under this name
    key, request, line = folder / name, folder / f"{name}.enrol.json", folder / f"{name}.pub"
    for path in (request, line):
        check_free(path)
    public = make_key_file(key, secret)
    write_file(request, make_request(person, public, FileSigner.open(key, secret), now))
    write_file(line, f"{public.openssh} {person}\n".encode())
    if as_json:
        output.document({"id": person, "keyid": public.keyid, "key": str(key), "public": str(line), "request": str(request)})
        return
    output.line(f"Made a key for {person}.", "strong")
    output.facts([("fingerprint", public.keyid), ("private key", str(key)), ("public key", str(line)), ("request", str(request))])
    output.line("Next: give the request to somebody else, tell them the fingerprint over another channel, and let them run")
    output.line(f"  countersign enrol {request.name} --by THEIR-ID --role reviewer")


def _roles(names: list[str]) -> list[Role]:
    for name in names:
        if name not in ROLES:
            raise typer.BadParameter(f"--role is one of {', '.join(ROLES)}")
    return [role for role in ROLES if role in names]


def enrol_command(
    request: Annotated[Path, typer.Argument(metavar="REQUEST", help="The .enrol.json file that keygen wrote.")],
    by: Annotated[str, typer.Option("--by", metavar="ID", help="Your id: you answer for this person being who they say.")],
    roles: Annotated[list[str] | None, typer.Option("--role", help="proposer or reviewer; may be repeated. For a person who is new.")] = None,
    aliases: Annotated[list[str] | None, typer.Option("--alias", help="Another name of the same person; may be repeated.")] = None,
    owner: Annotated[str | None, typer.Option("--owner", metavar="ID", help="Makes it an agent, for which this person answers.")] = None,
    expires: Annotated[str | None, typer.Option("--expires", metavar="TIME", help="When the key expires, such as 2027-01-31T00:00:00Z.")] = None,
    registry: Annotated[Path | None, typer.Option("--registry", help="The registry; otherwise reviewers.toml of the workspace.")] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """Merge somebody else's enrolment request into the registry. Compare the fingerprint with what they told you."""
    file = Workspace(workspace).registry_file if registry is None else registry
    wanted = read_request(read_file(request), where=Where(request.name))
    merged = enrol(file, wanted, by, datetime.now(UTC), roles=_roles(roles or []), aliases=aliases or (), expires=expires, owner=owner)
    if as_json:
        output.document({"id": wanted.id, "keyid": wanted.public.keyid, "registry": str(file), "registry_digest": merged.digest})
        return
    output.line(f"Enrolled {wanted.id}.", "strong")
    output.facts([("fingerprint", wanted.public.keyid), ("registry", str(file)), ("digest", merged.digest)])
    output.line("Statements that were prepared under the old registry have to be prepared again.")
