"""What a reviewer reads about the evidence before and while signing: what it can prove, earlier looks at the holdout, their own
sample. Before a statement is prepared it is what the workspace says now; afterwards what the statement says."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import streamlit as st

from core.errors import CountersignError
from core.gates.exposure_report import exposure_of
from core.sampling import sampling_coverage
from core.sampling.marks import Marked
from core.signing.ledger import LedgerView
from core.signing.lost_looks import lost_looks
from core.signing.words import evidence_sentences, exposure_sentences, sampling_sentence
from dashboard import blocks, components, pair_marks, signing_actions, strength_view, words
from dashboard.blocks import Block, Span, muted, strong, text
from dashboard.frame import View

_EARLIER_VERSION: Final = "Nothing: it is of version 1, which says nothing about the strength of its evidence."


def draw(view: View, person: str | None) -> None:
    """The three parts, as they stand now and as they would be signed."""
    components.section("strength", "What the evidence can prove", strength_view.sentences_block(view.computed.strength))
    try:
        looks = exposure_sentences(view.computed.strength, exposure_of(view.workspace, view.round, view.grid).as_dict())
        sample = None if person is None else sampling_coverage(view.workspace, view.round, view.computed, person)
    except CountersignError as error:
        components.error_notice("coverage", error)
        return
    components.section("looks", "Earlier looks at this holdout", _lines(looks), _more("holdout", "The record, round by round"))
    said = muted("It is yours once you say who signs.") if sample is None else text(sampling_sentence(sample))
    components.section("sampled", "Your sample of the admitted pairs", blocks.paragraph(said), _more("sample", "Judge pairs blind"))
    _disputed(view, person)


def _disputed(view: View, person: str | None) -> None:
    """What this person disputes among the pairs: it is signed with the decision. The reason belongs into the comment."""
    marked = pair_marks.read(pair_marks.marks_of(view, person))
    if not marked.disputed:
        said = f"Nothing. {_seen(marked)}" if person is not None else "It is yours once you say who signs."
        components.section("disputed", "What you dispute", blocks.paragraph(muted(said)), _more("rejected", "Read the pairs"))
        return
    components.section(
        "disputed", f"You dispute {words.plural(len(marked.disputed), 'pair')}", blocks.paragraph(*pair_marks.disputed_spans(view, marked)),
        blocks.paragraph(muted("The statement names them, each with where the engine put it; a dispute moves none. Say why in the comment.")),
        blocks.paragraph(muted(_seen(marked))),
    )
    line = f"Disputed pairs: {', '.join(marked.disputed)}."
    st.button("Put them into the comment", key="dispute_comment", icon=":material/edit_note:", on_click=signing_actions.add_to_comment,
              args=(view.round.digest, line), disabled=signing_actions.comment_with(view.round.digest, line) is None,
              help="Disabled where the comment names them already, or has no room for all of them.")


def _seen(marked: Marked) -> str:
    return f"You marked {words.plural(len(marked.seen), 'pair') if marked.seen else 'no pair'} as seen."


def _lines(sentences: Sequence[str]) -> Block:
    return blocks.bullets(*([text(line)] for line in sentences))


def _more(page: str, label: str) -> Block:
    return blocks.paragraph(blocks.link(label, page))


def signed_block(predicate: Mapping[str, Any]) -> Block:
    """What a decision says of its evidence, sentence by sentence."""
    said = evidence_sentences(predicate)
    return _lines(said) if said else blocks.paragraph(muted(_EARLIER_VERSION))


def lost_notices(view: View, ledger: LedgerView) -> list[tuple[str, Block]]:
    """A record of looks that is not the one that earlier decisions were signed against."""
    try:
        lost = lost_looks(view.workspace, ledger)
    except CountersignError:
        return []       # what is wrong with the record is said where it is read
    lines: list[list[Span]] = [[strong("Looks at a holdout are missing: "), text(f"{line}.")] for line in lost]
    return [(f"lost-{position}", blocks.notice("warning", "bad", line)) for position, line in enumerate(lines)]
