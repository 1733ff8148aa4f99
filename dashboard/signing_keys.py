"""Which key file of the workspace belongs to a person, and the passphrase of a demo key."""
from __future__ import annotations

from pathlib import Path

from core.cli.demo_workspace import read_identities
from core.persons.person import Person
from core.rounds.workspace import Workspace
from core.signing.keys import slug


def key_file(workspace: Workspace, person: Person) -> Path | None:
    """The private key that the workspace keeps for this person, under any of their ids, or None.

    Whether it really is theirs shows when it signs: a key of somebody else is refused there."""
    files = (workspace.keys_dir / slug(name) for name in person.names)
    return next((file for file in files if file.is_file()), None)


def demo_passphrase(workspace: Workspace, person_id: str) -> str | None:
    """The passphrase of a demo identity, made with its key at the demo's first start; None in every other workspace."""
    return next((one.passphrase for one in read_identities(workspace) if one.id == person_id), None)
