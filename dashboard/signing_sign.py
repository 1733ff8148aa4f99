"""Step two of a sign-off: the exact bytes, the statement in plain words, the time left, and the ways to sign."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import streamlit as st

from core.persons.person import Person
from core.settings import SETTINGS
from core.signing.keys import slug
from core.signing.ledger import LedgerView
from core.signing.signoff import Prepared
from core.signing.status import earlier_decisions, round_identity
from core.signing.words import warnings
from dashboard import blocks, components, session, signing_actions, signing_evidence, signing_keys, signing_rules, signing_words, words
from dashboard.blocks import mono, muted, strong, text
from dashboard.frame import View

_SETTINGS: Final = SETTINGS["sign_off"]
WORKSPACE_KEY: Final = "Key of this workspace"
OWN_MACHINE: Final = "My own machine"


def draw(view: View, ledger: LedgerView, prepared: Prepared) -> None:
    """The whole step: what is signed on the left, how on the right."""
    error = signing_actions.memory(view.round.digest).error
    if error is not None:
        components.error_notice("sign-off", error)
    left, right = st.columns(_SETTINGS["wide_narrow"], gap="large")
    with left:
        for key, notice in signing_evidence.lost_notices(view, ledger):
            components.sheet(key, notice)
        statement(prepared, warnings(prepared.statement, earlier_decisions(view.desk.signed or ledger, round_identity(view.round))))
    with right, st.container(border=True, key="sign-panel"):
        _sign(view, prepared)


def statement(prepared: Prepared, known: Sequence[str]) -> None:
    """The statement in plain words, what it binds, and its exact bytes."""
    predicate = prepared.statement.predicate
    components.section("words", "What you sign, in plain words", *signing_words.statement_blocks(predicate))
    for position, line in enumerate(known):
        components.sheet(f"sign-warning-{position}", blocks.notice("warning", "off", [line]))
    components.section("evidence", "What it says of the evidence", signing_evidence.signed_block(predicate))
    components.section("bound", "What it binds", blocks.facts(signing_words.bound_rows(predicate)))
    exact_bytes("prepared", prepared.payload, prepared.digest, "These bytes, and no others, are signed.")


def exact_bytes(key: str, payload: bytes, digest: str, sentence: str) -> None:
    """Signed bytes as text: their count, their digest, then all of them."""
    components.section(
        f"bytes-{key}", "The exact bytes",
        blocks.paragraph(f"{sentence} RFC 8785 JSON, ", strong(words.plural(len(payload), "byte")),
                         "; hidden characters are shown as marks. SHA-256 ", blocks.digest(digest)),
    )
    components.code(payload.decode("utf-8"), height=_SETTINGS["bytes_height"])


def _sign(view: View, prepared: Prepared) -> None:
    components.section("sign", "Sign", blocks.facts([
        ("Signing as", [strong(prepared.reviewer)]), ("Decision", [text(str(prepared.statement.predicate["decision"]))]),
    ]))
    _countdown(str(prepared.statement.predicate["expiresAt"]))
    here = session.on_loopback()
    if here:
        way = st.segmented_control("How you sign", [WORKSPACE_KEY, OWN_MACHINE], key=signing_actions.WAY, default=WORKSPACE_KEY, required=True,
                                   width="stretch")
    else:
        way = OWN_MACHINE
        components.state_notice(
            "loopback", "no_permission", "No passphrase is taken here: this server can be reached from other machines.",
            "Sign on your own machine: download the statement, sign it there, upload the signed receipt.",
        )
    if way == WORKSPACE_KEY:
        _with_workspace_key(view, prepared)
    else:
        _on_own_machine(view, prepared)
    st.button("Discard and prepare again", key="discard", type="tertiary", on_click=signing_actions.discard, args=(view.round.digest,))


@st.fragment(run_every=_SETTINGS["countdown_s"])
def _countdown(expires_at: str) -> None:
    """The time left; when it is over, the page is drawn again and asks to prepare again."""
    now = signing_rules.now()
    if signing_words.is_over(expires_at, now):
        st.rerun(scope="app")
    left = signing_words.left_words(signing_words.time_left(expires_at, now))
    until = muted(f" to sign, until {signing_words.clock(expires_at).partition(' ')[-1]}")
    components.sheet("countdown", blocks.paragraph(blocks.icon("clock"), strong(f"{left} left"), until))


def _with_workspace_key(view: View, prepared: Prepared) -> None:
    person = _signer(view, prepared)
    key_file = None if person is None else signing_keys.key_file(view.workspace, person)
    if key_file is None:
        components.state_notice(
            "no-key", "no_permission", f"This workspace holds no key of {prepared.reviewer}.",
            ["Sign on your own machine instead, or make a key: ", mono(f"countersign keygen --id {prepared.reviewer}")],
        )
        return
    _passphrase_form(view, prepared, key_file)
    demo = signing_keys.demo_passphrase(view.workspace, prepared.reviewer)
    if demo is not None:
        components.sheet("demo-passphrase", blocks.notice(
            "note", "off", [strong("Demo identity. "), text("The passphrase of this demo key is ")], [mono(demo)],
            [muted("It was made for this workspace at first start, and is printed in the terminal too. A real key's passphrase is never shown.")],
        ))


def _signer(view: View, prepared: Prepared) -> Person | None:
    assert view.desk.registry is not None  # the page stops before this without one
    return view.desk.registry.find(prepared.reviewer)


def _passphrase_form(view: View, prepared: Prepared, key_file: Path) -> None:
    with st.form("sign-form", clear_on_submit=True, border=False):
        # required: the second click of a double click finds the field emptied, and would be taken for a wrong passphrase
        st.text_input("Passphrase of your key", type="password", key=signing_actions.PASSPHRASE, autocomplete="off", required=True)
        st.form_submit_button(
            "Sign and append to the ledger", key="sign", type="primary", width="stretch", icon=":material/draw:",
            on_click=signing_actions.sign_clicked, args=(view.workspace, view.round.digest, prepared.digest, key_file),
        )
    components.sheet("sign-note", blocks.paragraph(muted(
        "The key is decrypted for this one signature, on this machine, and kept nowhere. The receipt verifies offline.", blocks.SMALL)))


def _on_own_machine(view: View, prepared: Prepared) -> None:
    """Download the statement, sign it where the key is, upload the receipt."""
    name = f"statement-{slug(str(prepared.statement.predicate['round_id']))}"
    components.sheet("own-1", blocks.paragraph(strong("1. "), "Download the statement."))
    st.download_button("Download the statement", prepared.payload, file_name=f"{name}.json", mime="application/json", key="download-statement",
                       icon=":material/download:", on_click="ignore", width="stretch")
    components.sheet("own-2", blocks.paragraph(strong("2. "), "Sign it where your key is; read it there before you do."))
    components.code(f"countersign sign {name}.json --key YOUR-KEY")
    components.sheet("own-3", blocks.paragraph(strong("3. "), "Upload the signed receipt, ", mono(f"{name}.signed.json"), "."))
    uploaded = st.file_uploader("Signed receipt", type=["json"], key=signing_actions.UPLOAD, max_upload_size=_SETTINGS["receipt_upload_mb"])
    st.button(
        "Append to the ledger", key="append", type="primary", width="stretch", disabled=uploaded is None, on_click=signing_actions.append_clicked,
        args=(view.workspace, view.round.digest, prepared.digest, b"" if uploaded is None else uploaded.getvalue()),
    )
    if uploaded is None:
        components.sheet("why-append", blocks.paragraph(muted("Not yet: no signed receipt is uploaded.", blocks.SMALL)))
