"""Step one of a sign-off: what you would be deciding, who you are, what blocks, and the form that prepares the statement."""
from __future__ import annotations

from typing import Final

import streamlit as st

from core.settings import SETTINGS
from core.signing.ledger import LedgerView
from core.signing.signoff import Prepared
from core.signing.status import earlier_decisions, lock_words, round_identity
from dashboard import (
    blocks,
    components,
    contamination_desk,
    cutoff_view,
    grid_view,
    leakage_loaders,
    navigation,
    rollouts_desk,
    session,
    signing_actions,
    signing_evidence,
    signing_rules,
    signing_words,
    words,
)
from dashboard.blocks import Block, Span, badge, muted, strong, text
from dashboard.frame import View

_COLUMNS: Final = SETTINGS["sign_off"]["wide_narrow"]
_TO_LEAKS: Final = (blocks.link("See leaks and style", "leakage"),)


def draw(view: View, ledger: LedgerView) -> None:
    """The whole step: the matter on the left, the decision on the right."""
    error = signing_actions.memory(view.round.digest).error
    if error is not None:
        again = signing_rules.must_prepare_again(error)
        if again:
            components.state_notice("again", "expired", "Nothing was signed: prepare again.", "What was prepared no longer holds, as said below.")
        components.error_notice("sign-off", error)
    left, right = st.columns(_COLUMNS, gap="large")
    with left:
        _matter(view, ledger)
    with right, st.container(border=True, key="decision-panel"):
        _decision(view, ledger)


def _matter(view: View, ledger: LedgerView) -> None:
    allowed = signing_rules.engine_allows(view.computed)
    admitted = view.document["reason_table"]["admitted"]
    candidate, baseline = view.manifest.candidate, view.manifest.baseline
    approving = allowed and st.session_state.get(signing_actions.decision_key(view.round.digest)) != "Reject"
    title = "What you would be approving" if approving else "What you would be rejecting"
    components.section(
        "matter", title, signing_words.consequences("approve" if approving else "reject", admitted, candidate.name, baseline.name),
        blocks.paragraph(muted(signing_words.NEITHER_ALONE)),
    )
    for key, notice in (*warnings(view, ledger), *signing_evidence.lost_notices(view, ledger)):
        components.sheet(f"warning-{key}", notice)
    signing_evidence.draw(view, view.person)
    components.section("facts", "What your signature would bind", blocks.facts(facts_rows(view, ledger)))
    components.section("grid", "Grid keys that differ", *grid_view.comparison(view))
    components.section("opened", "What you have opened in this session", blocks.line(*opened_groups(session.opened_pages(view.round.digest))))


def warnings(view: View, ledger: LedgerView) -> list[tuple[str, Block]]:
    """What to know before deciding: a refusal, a candidate without digest, leaks of the holdout, earlier decisions about the same thing."""
    found = []
    if not signing_rules.engine_allows(view.computed):
        found.append(("refused", blocks.notice(
            "refuse", "bad", [strong("The engine refuses this round: "), text(f"{signing_words.refusal_words(view.document)}.")],
            ["A refusal cannot be approved. It can be signed as a rejection, so that it is on record with your reasons. ",
             blocks.link("See every check", "overview")],
        )))
    if view.manifest.candidate.digest is None and signing_rules.engine_allows(view.computed):
        found.append(("candidate", blocks.notice(
            "warning", "off", [strong("The candidate has no digest.")],
            [f"An approval names the model {view.manifest.candidate.name} without identifying its bytes: nobody can check later that it is the one."],
        )))
    if signing_rules.engine_allows(view.computed):
        found += [*_leaks(view), *rollouts_desk.sign_off_lines(view), *_cutoff(view)]
    for position, line in enumerate(signing_words.earlier_lines(earlier_decisions(view.desk.signed or ledger, round_identity(view.round)))):
        found.append((f"earlier-{position}", blocks.notice("stale", "off", line)))
    return found


def _leaks(view: View) -> list[tuple[str, Block]]:
    """Admitted pairs that repeat the locked holdout, or that nobody has looked for them: no check reads it, so the reviewer has to."""
    found = contamination_desk.gather(view)
    if found.report is None:
        missing = contamination_desk.headline_words(view, found)
        return [] if found.why == "no_holdout" else [("leaks", blocks.notice("stale", "off", [strong(f"{missing}.")], _TO_LEAKS))]
    admitted = leakage_loaders.findings(view, found.report).pairs["admitted"]
    if not admitted:
        return []
    verb = "repeats" if admitted == 1 else "repeat"
    return [("leaks", blocks.notice(
        "warning", "off", [strong(f"{words.plural(admitted, 'admitted pair')} {verb} the locked holdout.")],
        ["Approving lets the next generation train on what it is tested with; no check of this grid stops that. ", *_TO_LEAKS],
    ))]


def _cutoff(view: View) -> list[tuple[str, Block]]:
    """Admitted pairs that a declared cut-off makes equal: no check reads it either."""
    cut = view.document.get("cutoff")
    if cut is None or not cut["equal"]["total"]:
        return []
    return [("cutoff", cutoff_view.warning_block(cut, blocks.link("See them on Curation", "curation")))]


def facts_rows(view: View, ledger: LedgerView) -> list[tuple[str, list[Span]]]:
    """What the statement will bind, as it stands now."""
    document, proposal, manifest = view.document, view.status.proposal if view.status else None, view.manifest
    assert proposal is not None  # the page stops before this for a round that is not proposed
    lock = lock_words(view.desk.signed or ledger, view.round.holdout_digest, proposal.index)
    holdout = [muted("no holdout supplied")] if view.round.holdout_digest is None else [
        blocks.digest(view.round.holdout_digest, "the holdout digest"), text(" "), muted(lock)]
    return [
        ("Round", [blocks.digest(view.round.digest, "the round digest"), text(f" {signing_words.counts_words(document['reason_table'])}")]),
        ("Engine's verdict", [_verdict(view), text(" "), blocks.link("every check", "overview")]),
        ("Candidate", signing_words.model_spans(manifest.candidate.name, manifest.candidate.digest)),
        ("Baseline", signing_words.model_spans(manifest.baseline.name, manifest.baseline.digest)),
        ("Holdout", holdout),
        ("Grid", [text(f"{view.grid.name}, version {view.grid.version} "), blocks.digest(view.grid.digest, "the grid digest")]),
        ("Engine", [text(f"{document['engine_version']}, code "), blocks.digest(document["code_digest"], "the code digest")]),
        ("Proposal", [text("signed by "), strong(proposal.statement.signer), text(", "),
                      text(f"{words.short_time(proposal.statement.predicate['issuedAt'])}, "),
                      blocks.link(f"ledger entry {proposal.index}", "ledger", entry=str(proposal.index))]),
        ("Ledger", signing_words.head_spans(ledger.head.as_dict())),
    ]


def opened_groups(opened: list[str]) -> list[list[Span]]:
    """The pages of evidence: opened, or still to read, each a way there."""
    return [
        [badge("opened", "ok", "check") if page in opened else badge("not opened", "off", "open"), text(" "),
         blocks.link(navigation.BY_KEY[page].title, page)]
        for page in navigation.EVIDENCE
    ]


def _verdict(view: View) -> Span:
    return badge("Promote", "ok", "check") if signing_rules.engine_allows(view.computed) else badge("Refuse", "bad", "refuse")


def _decision(view: View, ledger: LedgerView) -> None:
    components.section("decision", "Your decision")
    person = _person(view)
    _offer_open(view, ledger, person)
    components.sheet("proposer", blocks.facts([
        ("Proposed by", [text(", ".join(view.manifest.proposers))]), ("Another person", _distinct(view, person)),
    ]))
    choice = _choice(view)
    limit = SETTINGS["signing"]["comment_characters"]
    st.text_area(
        "Comment, signed with the decision", key=signing_actions.comment_key(view.round.digest), max_chars=limit,
        placeholder="What convinced you, or what has to change", height=SETTINGS["sign_off"]["comment_height"], persist_state="session",
    )
    reason = signing_rules.why_not_prepare(view.manifest, view.desk, view.round.digest, person, choice)
    st.button(
        "Prepare the statement", key="prepare", type="primary", width="stretch", icon=":material/edit_document:", disabled=reason is not None,
        on_click=signing_actions.prepare_clicked, args=(view.workspace, view.round, view.computed, person, choice),
    )
    if reason is None:
        said = "Nothing is signed yet: the decision is computed again from the round, and the next step shows the exact bytes."
    else:
        said = f"Not yet: {reason}"
    components.sheet("why-prepare", blocks.paragraph(muted(said, blocks.SMALL)))


def _person(view: View) -> str | None:
    """The choice of who signs, among the reviewers of the registry. It decides nothing: the key does."""
    assert view.desk.registry is not None
    people = [person.id for person in signing_rules.reviewers(view.desk.registry)]
    signing_actions.follow_side_bar(view.person, people)
    return st.selectbox(
        "You are signing as", people, key=signing_actions.PERSON, index=None, placeholder="Choose a reviewer of the registry",
        format_func=components.selectable, on_change=signing_actions.choose_person, persist_state="session",
        help="The choice decides nothing: the signature needs this person's own key.",
    )


def _distinct(view: View, person: str | None) -> list[Span]:
    """The distinct-person check, in words."""
    if person is None:
        return [badge("open", "off", "open"), muted(" until it is known who signs")]
    reason = signing_rules.why_not_this_person(view.manifest, view.desk, view.round.digest, person)
    if reason is None:
        return [badge("yes", "ok", "check"), text(" none of the proposers, by id or alias")]
    return [badge("blocked", "bad", "cross"), text(f" {reason}")]


def _choice(view: View) -> str | None:
    """Approve or reject; only reject where the engine refuses."""
    allowed = signing_rules.engine_allows(view.computed)
    options = list(signing_actions.CHOICES) if allowed else ["Reject"]
    chosen = st.segmented_control("Decision", options, key=signing_actions.decision_key(view.round.digest), width="stretch")
    if not allowed:
        components.sheet("why-no-approval", blocks.paragraph(muted("Approve is not offered: the engine refuses this round.", blocks.SMALL)))
    return signing_actions.CHOICES[chosen] if chosen else None


def _offer_open(view: View, ledger: LedgerView, person: str | None) -> None:
    """A statement of this person that was prepared before the page was loaded again."""
    waiting: Prepared | None = signing_rules.still_open(view.workspace, ledger, view.round.digest, person)
    if waiting is None:
        return
    predicate = waiting.statement.predicate
    left = signing_words.left_words(signing_words.time_left(predicate["expiresAt"], signing_rules.now()))
    components.sheet("waiting", blocks.notice(
        "clock", "off", [f"A statement that you prepared ({predicate['decision']}) can still be signed for {left}."],
    ))
    st.button("Go on with it", key="continue", on_click=signing_actions.continue_with, args=(view.round.digest, waiting.digest))
