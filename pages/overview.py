"""Overview: may this round train the next generation and replace the baseline? The verdict, every check, what would have to be true."""
from __future__ import annotations

import streamlit as st

from core.gates.assessment import headline
from core.gates.strength_words import texts_of
from core.rounds.notes import UNFLAGGED
from core.settings import SETTINGS
from core.signing.status import earlier_decisions, round_identity
from dashboard import blocks, check_table, components, frame, grid_view, holdout_desk, loaders, overview_view, strength_view, unchecked

view = frame.open_round("overview")
document = view.document

components.headline("overview", headline(document), lead=overview_view.evidence(document, view.manifest))
earlier = earlier_decisions(view.desk.signed, round_identity(view.round)) if view.desk.signed is not None else ()
components.sheet("standing", overview_view.standing_block(view.standing, earlier, view.manifest.round_id))
trap = overview_view.trap_sentence(view.queries().trap())
if trap:
    components.sheet("trap", blocks.paragraph(*trap))
strength = view.computed.strength
components.section(
    "checks", "Checks", check_table.checks_table("checks", document["checks"], texts_of(strength), label="Checks of this round"),
)
below_the_checks = st.container()

notes = loaders.round_remarks(view.round)
left, right = st.columns(SETTINGS["dashboard"]["wide_narrow"], gap="large")
with left:
    components.section("strength", "What the evidence can prove", strength_view.sentences_block(strength, with_checks=False))
    conditions = overview_view.conditions(document)
    if conditions:
        components.section("conditions", "What would have to be true", blocks.bullets(*conditions))
    if document["notes"]:
        components.section("notes", "Notes of the engine", blocks.bullets(*([note["text"]] for note in document["notes"])))
    remarks = overview_view.remarks(notes)
    if remarks:
        components.section("files", "Notes on the files", blocks.bullets(*remarks))
    foreign = overview_view.foreign_files(view.manifest)
    if foreign:
        components.section("foreign", "How the foreign files were read", blocks.bullets(*foreign))
    components.section("grid", "Grid keys that differ", *grid_view.comparison(view))
    components.section(
        "note", "Proposer's note",
        blocks.prose(view.manifest.note) if view.manifest.note else blocks.paragraph(blocks.muted("The proposer left no note.")),
    )
with right:
    flagged = all(note.code != UNFLAGGED for note in notes)
    witness = holdout_desk.witness(view) if view.round.holdout_digest is not None else ()
    facts = overview_view.facts_rows(document, view.manifest, view.grid, flagged=flagged, witness=witness)
    components.section("facts", "What this stands on", blocks.facts(facts))
if document["judges"]:
    components.section("judges", "Judges", overview_view.judges_table(document))
with below_the_checks:
    unchecked.draw(view)
