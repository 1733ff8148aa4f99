"""The dataset of an approved round, for download: below the receipt, on Sign-off and in the Ledger.

It is made when it is asked for, since the approval is verified and the decision recomputed first, and kept for this session only.
"""
from __future__ import annotations

from typing import Final

import streamlit as st

from core.errors import CountersignError
from core.export.archive import dataset_zip
from core.export.beside import Wanted
from core.export.provenance import signed_provenance
from core.export.shapes import SHAPES, shape_named
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.signing.ledger import LedgerEntry
from core.signing.status import State
from dashboard import blocks, components, loaders, signing_rules, words
from dashboard.loaders import Desk

_MADE: Final = "dataset_made"


def offer(workspace: Workspace, desk: Desk, entry: LedgerEntry, source: object) -> None:
    """A format, and a button that makes the dataset; nothing where this decision is not the approval that closed its round."""
    if not isinstance(source, Round) or not _closed_by(desk, entry):
        return
    key = entry.digest
    components.section(
        f"dataset-{key}", "Train on it",
        blocks.paragraph("The admitted pairs as a dataset that a trainer loads, with its card, Croissant, the training recipe, checksums and this "
                         "evidence. The approval is verified and the decision computed again first."),
    )
    if not loaders.is_quick(source):
        components.state_notice(f"dataset-{key}", "very_large", "This round is too large to export while a page waits.",
                                "Run countersign export on its digest.")
        return
    shape = st.selectbox("Format", list(SHAPES), key=f"dataset-format-{key}", help="The trainer whose rows are written.")
    parquet = st.toggle("With Parquet", value=True, key=f"dataset-parquet-{key}")
    asked = (key, str(shape), bool(parquet))
    if st.button("Make the dataset", key=f"dataset-make-{key}", icon=":material/dataset:"):
        _make(workspace, source, asked)
    _hand_out(asked)


def _closed_by(desk: Desk, entry: LedgerEntry) -> bool:
    if desk.ledger is None or desk.registry is None or not entry.statement.approves:
        return False
    status = loaders.status_of_round(desk, str(entry.statement.round_digest))
    return status is not None and status.state is State.APPROVED and status.closing is not None and status.closing.digest == entry.digest


def _make(workspace: Workspace, source: Round, asked: tuple[str, str, bool]) -> None:
    key, shape, parquet = asked
    try:
        with st.spinner("Verifying the approval, then writing the dataset"):
            name, data = dataset_zip(signed_provenance(workspace, source, signing_rules.now()), Wanted(shape_named(shape), parquet))
    except CountersignError as error:
        st.session_state.pop(_MADE, None)
        components.error_notice(f"dataset-{key}", error)
        return
    st.session_state[_MADE] = (asked, name, data)


def _hand_out(asked: tuple[str, str, bool]) -> None:
    made = st.session_state.get(_MADE)
    if made is None or made[0] != asked:
        return
    _, name, data = made
    components.sheet("dataset-made", blocks.paragraph(blocks.strong(name), blocks.muted(f" {words.count(len(data))} bytes")))
    st.download_button("Download the dataset", data, file_name=name, mime="application/zip", key=f"dataset-download-{asked[0]}",
                       icon=":material/download:", on_click="ignore")
