"""What ``countersign demo`` puts into a workspace: the demo rounds, two demo identities, proposals and assessments.

The identities are for looking around and nothing else: their keys are made at first start inside the workspace, and their
passphrases stand in ``demo.json`` beside them (readable by its owner alone), in the terminal and on the page. Everything
here may be run again: what is there already stays as it is.
"""
from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import core
from core.canonical import canonical_bytes, parse_json
from core.errors import RoundError, Where, WorkspaceError
from core.files import locked, replace_file, write_new
from core.gates.assessment import Assessment, load_or_assess
from core.grid import default_grid
from core.persons.person import Role
from core.persons.publickey import PublicKey
from core.persons.registry import Registry
from core.persons.times import z_time
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace
from core.schemas import PARTS
from core.settings import SETTINGS
from core.signing.keys import FileSigner, make_key_file, slug
from core.signing.ledger import Ledger
from core.signing.propose import propose
from core.signing.status import State, round_status

DEMO_FILE: Final = "demo.json"
"""The demo identities of a workspace; no other workspace has this file."""
PROPOSER: Final = "worker-curator-01"
REVIEWER: Final = "worker-verifier-02"
ROLES: Final[dict[str, Role]] = {PROPOSER: "proposer", REVIEWER: "reviewer"}
MARK: Final = "DEMO identity made by countersign demo: its passphrase is shown on the page, so its signature proves nothing"
ROUNDS_FOLDER: Final = Path(core.__file__).resolve().parent.parent / "data" / "rounds"
"""Where a clone of the repository has the demo rounds; a wheel does not carry them."""

_SETTINGS: Final = SETTINGS["demo"]
Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True, slots=True)
class DemoIdentity:
    """A demo person: ``key_file`` inside the workspace, opened by ``passphrase``."""

    id: str
    role: Role
    key_file: Path
    passphrase: str


@dataclass(frozen=True, slots=True)
class DemoRound:
    """A demo round in the workspace: assessed, and proposed where it is complete. ``state``: what the ledger says of it."""

    source: Round
    assessment: Assessment
    state: State


def load_demo(workspace: Workspace, now: datetime, progress: Progress, folder: Path = ROUNDS_FOLDER) -> tuple[list[DemoRound], list[DemoIdentity]]:
    """Bring a workspace to the state that the demo shows: rounds oldest first, and the two identities.

    Raises RoundError ``demo_rounds_missing`` where ``folder`` has none, WorkspaceError where the workspace belongs to
    somebody else (``not_a_demo_workspace``) or its demo file is broken.
    """
    sources = demo_sources(folder)
    # before any round: a workspace with real persons is refused untouched
    identities = demo_identities(workspace, now)
    found = _ingested(sources, workspace, now, progress)
    _propose(workspace, found, identities, now)
    view = Ledger(workspace.ledger_file).read()
    loaded = []
    for done, source in enumerate(found):
        progress("assessing", done, len(found))
        loaded.append(DemoRound(source, load_or_assess(workspace, source, default_grid()), round_status(view, source.digest).state))
    return loaded, identities


def demo_sources(folder: Path = ROUNDS_FOLDER) -> list[Path]:
    """Input folders of the demo rounds, oldest round first."""
    manifests = sorted(folder.glob("*/round.json"))
    if not manifests:
        raise RoundError(
            "demo_rounds_missing", expected="the demo rounds beside the package", got="none", where=Where(str(folder)),
            remedy="run the demo from a clone of the repository, installed with pip install -e .",
        )
    return sorted((path.parent for path in manifests), key=lambda path: str(parse_json((path / "round.json").read_bytes())["created_at"]))


def _ingested(sources: Sequence[Path], workspace: Workspace, now: datetime, progress: Progress) -> list[Round]:
    rounds = []
    for done, source in enumerate(sources):
        progress("loading", done, len(sources))
        rounds.append(Round.open(ingest(source, workspace, now=now).path))
    return rounds


def _propose(workspace: Workspace, rounds: Sequence[Round], identities: Sequence[DemoIdentity], now: datetime) -> None:
    registry = Registry.load(workspace.registry_file)
    view = Ledger(workspace.ledger_file).read()
    waiting = [
        one for one in rounds
        if all(one.has(part) for part in PARTS) and round_status(view, one.digest, registry=registry).state is State.NOT_PROPOSED
    ]
    if not waiting:
        return
    proposer = next(identity for identity in identities if identity.id == PROPOSER)
    signer = FileSigner.open(proposer.key_file, proposer.passphrase)
    for source in waiting:
        propose(workspace, source, default_grid(), PROPOSER, signer, registry, now)


def demo_identities(workspace: Workspace, now: datetime) -> list[DemoIdentity]:
    """The demo identities of a workspace, made and enrolled where they are missing."""
    with locked(workspace.root / "demo.lock"):
        file = workspace.root / DEMO_FILE
        if not file.exists():
            _refuse_foreign(workspace)
            # written before the keys: a start that is cut short finds its passphrases again
            write_new(file, canonical_bytes(_new_document()), mode=SETTINGS["signing"]["private_file_mode"])
        identities = read_identities(workspace)
        made = {one.id: make_key_file(one.key_file, one.passphrase) for one in identities if not one.key_file.exists()}
        _enrol(workspace, identities, made, now)
    return identities


def read_identities(workspace: Workspace) -> list[DemoIdentity]:
    """What ``demo.json`` says; an empty list where the workspace has none. Raises WorkspaceError ``broken_demo_file``."""
    file = workspace.root / DEMO_FILE
    if not file.exists():
        return []
    where = Where(DEMO_FILE)
    document = parse_json(file.read_bytes(), where=where, error=WorkspaceError)
    persons = document.get("persons") if isinstance(document, dict) else None
    passphrases = {item.get("id"): item.get("passphrase") for item in persons if isinstance(item, dict)} if isinstance(persons, list) else {}
    if set(passphrases) != set(ROLES) or not all(isinstance(passphrase, str) for passphrase in passphrases.values()):
        raise WorkspaceError(
            "broken_demo_file", expected=f"the demo identities {PROPOSER} and {REVIEWER} with their passphrases", got="something else",
            remedy="name a new folder with --workspace, or delete this workspace: demo rounds can be loaded again", where=where,
        )
    return [DemoIdentity(person, role, workspace.keys_dir / slug(person), str(passphrases[person])) for person, role in ROLES.items()]


def _new_document() -> dict[str, Any]:
    persons = [{"id": person, "role": role, "passphrase": new_passphrase()} for person, role in ROLES.items()]
    return {"demo_version": 1, "note": MARK, "persons": persons}


def new_passphrase() -> str:
    """Random groups of letters and digits that are not mistaken for each other, such as ``kq7m-x2vd-...``."""
    groups, length, alphabet = _SETTINGS["passphrase_groups"], _SETTINGS["group_characters"], _SETTINGS["alphabet"]
    return "-".join("".join(secrets.choice(alphabet) for _ in range(length)) for _ in range(groups))


def _refuse_foreign(workspace: Workspace) -> None:
    if workspace.registry_file.exists() or Ledger(workspace.ledger_file).exists():
        raise WorkspaceError(
            "not_a_demo_workspace", expected="a new workspace, or one that countersign demo made", got="one where persons are enrolled",
            where=Where(str(workspace.root)), remedy="name another folder with --workspace: demo identities do not belong among real ones",
        )


def _enrol(workspace: Workspace, identities: Sequence[DemoIdentity], made: Mapping[str, PublicKey], now: datetime) -> None:
    # not by way of an enrolment request: nobody answers for these two, and the registry has to say so
    file = workspace.registry_file
    with locked(file.with_name(f"{file.name}.lock")):
        data = file.read_bytes() if file.exists() else b"registry_version = 1\n"
        known = Registry.from_bytes(data, file=file.name)
        missing = [identity for identity in identities if known.find(identity.id) is None]
        for identity in missing:
            # a key from an earlier start that was cut short has to be opened to learn its public half
            public = made[identity.id] if identity.id in made else FileSigner.open(identity.key_file, identity.passphrase).public
            data += _table(identity, public, now).encode()
        if missing:
            Registry.from_bytes(data, file=file.name)
            replace_file(file, data)


def _table(identity: DemoIdentity, public: PublicKey, now: datetime) -> str:
    return (
        f'\n# {MARK}\n[persons."{identity.id}"]\nroles = ["{identity.role}"]\nnote = "{MARK}"\nenrolled_by = "countersign demo"\n'
        f'enrolled_at = "{z_time(now)}"\n[persons."{identity.id}".keys."{public.keyid}"]\npublic = "{public.openssh}"\n'
    )
