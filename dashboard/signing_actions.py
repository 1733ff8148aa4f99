"""The callbacks of the sign-off page, and what a session remembers of a sign-off.

A session keeps the digest of the statement that was prepared and the last error, for each round; never a key, never a
passphrase. Each callback gets what it acts on in its arguments, as it was when the button was drawn, and makes one core
call without any ``st.*`` inside: a connection that drops in between leaves the ledger right, and the page reads it again.
"""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import streamlit as st

from core.errors import CountersignError
from core.gates.assessment import Assessment
from core.persons.registry import Registry
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.settings import SETTINGS
from core.signing.signoff import Choice, prepare
from dashboard import session, signing_rules, words

PERSON, PASSPHRASE, UPLOAD, WAY = "signing_as", "passphrase", "signed_receipt", "sign_with"
"""Keys of the widgets; decision and comment have one for each round."""
_MEMORY, _SEEN = "sign_off", "side_bar_said"
CHOICES: Final[dict[str, Choice]] = {"Approve": "approve", "Reject": "reject"}


def decision_key(round_digest: str) -> str:
    """Widget key of the decision on a round."""
    return f"decision-{words.short_digest(round_digest)}"


def comment_key(round_digest: str) -> str:
    """Widget key of the comment on a round: a draft stays with its round."""
    return f"comment-{words.short_digest(round_digest)}"


@dataclass(frozen=True, slots=True)
class Memory:
    """What this session remembers about one round's sign-off. ``signed``: the digest of a statement it has signed."""

    prepared: str | None = None
    error: CountersignError | None = None
    signed: str | None = None


def memory(round_digest: str) -> Memory:
    """What this session remembers about a round."""
    kept: Memory = st.session_state.get(_MEMORY, {}).get(round_digest, Memory())
    return kept


def remember(round_digest: str, kept: Memory) -> None:
    """Replace what this session remembers about a round."""
    st.session_state[_MEMORY] = {**st.session_state.get(_MEMORY, {}), round_digest: kept}


def choose_person() -> None:
    """Callback: who signs, here and in the side bar alike."""
    session.choose_person(st.session_state[PERSON])


def follow_side_bar(person: str | None, people: list[str]) -> None:
    """Take over who sits there when the side bar names somebody else than before.

    The page keeps its own choice: a click that reaches the server before the side bar was drawn anew would undo it otherwise."""
    if person is not None and person != st.session_state.get(_SEEN):
        st.session_state[PERSON] = person if person in people else None
    st.session_state[_SEEN] = person


def prepare_clicked(workspace: Workspace, source: Round, computed: Assessment, person: str, choice: Choice) -> None:
    """Callback: make the statement about exactly this round and assessment, and remember its digest."""
    comment = st.session_state.get(comment_key(source.digest)) or ""
    try:
        prepared = prepare(
            workspace, source, computed, person, choice, comment, Registry.load(workspace.registry_file), signing_rules.now(),
            opened=session.opened_evidence(source.digest),
        )
    except CountersignError as error:
        remember(source.digest, Memory(error=error))
        return
    remember(source.digest, Memory(prepared=prepared.digest))


def comment_with(round_digest: str, line: str) -> str | None:
    """The comment with one line more at its end; None where it has that line already, or no room for it."""
    said = str(st.session_state.get(comment_key(round_digest)) or "")
    longer = f"{said.rstrip()}\n{line}" if said.strip() else line
    return None if line in said or len(longer) > SETTINGS["signing"]["comment_characters"] else longer


def add_to_comment(round_digest: str, line: str) -> None:
    """Callback: a line more at the end of the comment, where it fits whole."""
    longer = comment_with(round_digest, line)
    if longer is not None:
        st.session_state[comment_key(round_digest)] = longer


def continue_with(round_digest: str, prepared_digest: str) -> None:
    """Callback: go on with a statement that was prepared before the page was loaded again."""
    remember(round_digest, Memory(prepared=prepared_digest))


def discard(round_digest: str) -> None:
    """Callback: leave the prepared statement unsigned; it expires by itself."""
    remember(round_digest, Memory())


def sign_clicked(workspace: Workspace, round_digest: str, prepared_digest: str, key_file: Path) -> None:
    """Callback: sign exactly the statement of this digest with the workspace's key of its reviewer.

    The passphrase leaves the session's state before anything else happens."""
    passphrase = st.session_state.pop(PASSPHRASE, "")
    try:
        signing_rules.sign(workspace, prepared_digest, key_file, passphrase)
    except CountersignError as error:
        _failed(round_digest, prepared_digest, error)
        return
    remember(round_digest, Memory(signed=prepared_digest))


def append_clicked(workspace: Workspace, round_digest: str, prepared_digest: str, data: bytes) -> None:
    """Callback: append the uploaded receipt, if it signs exactly the statement of this digest."""
    try:
        signing_rules.append_upload(workspace, prepared_digest, data)
    except CountersignError as error:
        _failed(round_digest, prepared_digest, error)
        return
    remember(round_digest, Memory(signed=prepared_digest))


def _failed(round_digest: str, prepared_digest: str, error: CountersignError) -> None:
    ended = signing_rules.must_prepare_again(error)
    remember(round_digest, Memory(prepared=None if ended else prepared_digest, error=error))
