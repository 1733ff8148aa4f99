"""A proposed round, its people's keys on disk, a clock that tests move, and the sign-off page driven as a reviewer would."""
from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PrivateFormat
from streamlit.testing.v1 import AppTest
from support_desk import Desk
from support_desk import desk as new_desk
from support_sheets import ROOT, open_page, said
from support_signing import NOW, Actor

from core.rounds.folder import Round
from core.signing.keys import slug
from core.signing.ledger import LedgerEntry
from dashboard import signing_rules
from dashboard.server import WORKSPACE_VARIABLE

PASSPHRASE = "correct horse battery staple"


@dataclass
class Room:
    """A workspace that the page shows, and the page's clock."""

    desk: Desk
    now: datetime = NOW

    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    def open(self, source: Round, person: str | None = None, page: str = "sign_off.py") -> AppTest:
        # the address of this page is not its file's name: AppTest knows it after a first run
        at = open_page("rounds.py", round=source.digest)
        if person is not None:
            at.selectbox(key="you_are").set_value(person)
        return at.switch_page(str(ROOT / "pages" / page)).run()

    def keep_key(self, actor: Actor, passphrase: str = PASSPHRASE) -> Path:
        """The actor's private key as a file of the workspace. One round of key derivation: these tests are about the page."""
        encryption = PrivateFormat.OpenSSH.encryption_builder().kdf_rounds(1).build(passphrase.encode())
        path = self.desk.workspace.keys_dir / slug(actor.id)
        path.write_bytes(actor.private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, encryption))
        path.chmod(0o600)
        return path

    def entries(self) -> tuple[LedgerEntry, ...]:
        return self.desk.ledger.read().entries


def make_desk(folder: Path) -> Desk:
    """The desk of support_desk with the keys of both reviewers beside it."""
    made = new_desk(folder)
    for actor in (made.verifier, made.ben, made.curator):
        Room(made).keep_key(actor)
    return made


def room_of(desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    """A copy of a desk for one test: on the server's environment, under a clock of its own."""
    root = folder / "workspace"
    shutil.copytree(desk.workspace.root, root)
    room = Room(Desk(type(desk.workspace)(root), desk.curator, desk.verifier, desk.ben, desk.eva))
    monkeypatch.setenv(WORKSPACE_VARIABLE, str(root))
    monkeypatch.setattr(signing_rules, "now", lambda: room.now)
    return room


def prepare(at: AppTest, decision: str = "Approve", comment: str = "") -> AppTest:
    """Step one, as a person who sits there does it."""
    at.button_group[0].set_value(decision).run()
    at.text_area[0].set_value(comment).run()
    return at.button(key="prepare").click().run()


def sign(at: AppTest, passphrase: str = PASSPHRASE) -> AppTest:
    """Step two with the workspace's key."""
    at.text_input(key="passphrase").set_value(passphrase)
    return at.button(key="sign").click().run()


def read(at: AppTest, key: str | None = None) -> str:
    """The text of one sheet, or of all, as a reader sees it: spans run into each other."""
    return re.sub(r" (?=[,.;:!?])", "", " ".join(said(at, key).split()))
