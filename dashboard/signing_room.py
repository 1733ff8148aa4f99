"""The sign-off page: which step it is at, one headline for it, and the states in which nothing can be signed.

What has been signed is read from the ledger on every run, never from the session: after a dropped connection or a double
click the page shows what really happened.
"""
from __future__ import annotations

from typing import Final

from core.errors import CountersignError, LedgerError
from core.persons.registry import Registry
from core.signing.ledger import LedgerView
from core.signing.signoff import Prepared, open_prepared
from core.signing.status import RoundStatus, State
from dashboard import components, left_out, signing_actions, signing_prepare, signing_receipt, signing_rules, signing_sign, signing_words, words
from dashboard.blocks import Span, mono, muted, strong, text
from dashboard.frame import View

_STEPS: Final = ("Prepare", "Sign", "Receipt")


def draw(view: View) -> None:
    """The whole page."""
    registry, ledger, status = view.desk.registry, view.desk.ledger, view.status
    _left_out(view)
    if ledger is None or status is None:
        components.headline("sign-off", "Nothing can be signed: the ledger cannot be read")
        components.state_notice("broken", "broken", "The ledger is not the chain it claims to be; the message above names the place.",
                                "Restore it from a copy, and find out who changed it.")
    elif registry is None or not signing_rules.reviewers(registry):
        _nobody(view)
    elif status.state is State.NOT_PROPOSED:
        _not_proposed(view)
    elif status.closed or signing_rules.decided_by(status, view.person, registry):
        _receipts(view, ledger, status)
    else:
        _open_round(view, ledger, registry)


def _left_out(view: View) -> None:
    """Lines about this round that somebody wrote into the ledger and nobody signed."""
    ledger, signed = view.desk.ledger, view.desk.signed
    if ledger is None or signed is None:
        return
    notice = left_out.round_notice(ledger, signed, view.desk.left_out(view.round.digest), view.desk.faults)
    if notice is not None:
        components.sheet("left-out", notice)


def _open_round(view: View, ledger: LedgerView, registry: Registry) -> None:
    """Step one or two: whether a statement that can still be signed is at hand."""
    prepared = _prepared(view, ledger, registry)
    if prepared is not None:
        components.headline("sign-off", "Read and sign: ", strong(view.manifest.round_id), lead=_steps("Sign"))
        signing_sign.draw(view, ledger, prepared)
        return
    stale = view.standing.kind == "stale"
    components.headline("sign-off", *headline_spans(view), lead=_steps("Prepare"))
    if stale:
        components.state_notice("stale", "stale", view.standing.sentence, list(view.standing.next_step))
        return
    signing_prepare.draw(view, ledger)


def headline_spans(view: View) -> list[Span]:
    """The finding in one line: what this round is waiting for."""
    name = strong(view.manifest.round_id)
    status = view.status
    progress = f", {status.approvals} of {status.required} approvals" if status is not None and status.required > 1 else ""
    if not signing_rules.engine_allows(view.computed):
        return [name, text(f" is refused by the engine: only a rejection can be signed{progress}")]
    if view.standing.awaits:
        return [name, text(f" awaits your decision{progress}")]
    return [name, text(f" awaits a reviewer's decision{progress}")]


def _prepared(view: View, ledger: LedgerView, registry: Registry) -> Prepared | None:
    """The statement that this session prepared, if it can still be signed; else the reason is remembered for step one."""
    kept = signing_actions.memory(view.round.digest)
    if kept.prepared is None:
        return None
    try:
        prepared = open_prepared(view.workspace, kept.prepared)
    except CountersignError as error:
        signing_actions.remember(view.round.digest, signing_actions.Memory(error=error))
        return None
    problem = signing_rules.why_prepare_again(ledger, registry, view.desk.grids, prepared) or _another_reviewer(view, prepared)
    if problem is not None:
        signing_actions.remember(view.round.digest, signing_actions.Memory(error=problem))
        return None
    return prepared


def _another_reviewer(view: View, prepared: Prepared) -> CountersignError | None:
    """A statement is signed by whom it names: when somebody else says to sit here, it is not offered to them."""
    if view.person is None or view.person == prepared.reviewer:
        return None
    return LedgerError(
        "another_person", expected=f"{prepared.reviewer}, whom the prepared statement names, to sit here", got=view.person,
        remedy="prepare the statement again as the person who signs",
    )


def _steps(current: str) -> list[Span | str]:
    """Where the reader is: prepare, sign, receipt."""
    spans: list[Span | str] = []
    for position, name in enumerate(_STEPS):
        if position:
            spans.append(muted("  ›  "))
        label = f"{position + 1} {name}"
        spans.append(strong(label) if name == current else muted(label))
    return spans


def _nobody(view: View) -> None:
    components.headline("sign-off", "Nobody is enrolled as a reviewer in this workspace")
    components.state_notice(
        "nobody", "no_permission", "The registry names no reviewer.",
        ["Make a key with ", mono("countersign keygen --id you@example.org"), "; somebody else merges it with ", mono("countersign enrol"), "."],
    )


def _not_proposed(view: View) -> None:
    components.headline("sign-off", strong(view.manifest.round_id), " is not proposed yet")
    components.state_notice(
        "not-proposed", "not_proposed", f"{' or '.join(view.manifest.proposers)} has to sign the proposal first.",
        ["The proposer runs ", mono(f"countersign propose {words.short_digest(view.round.digest)}"), ": without a signed proposal anybody could "
         "write somebody else's name on a round and approve their own."],
    )


def _receipts(view: View, ledger: LedgerView, status: RoundStatus) -> None:
    """Step three: every decision on the round, newest first."""
    components.headline("sign-off", *decided_spans(view, status), lead=_steps("Receipt"))
    kept = signing_actions.memory(view.round.digest)
    signed = next((entry for entry in status.decisions if entry.statement.digest == kept.signed), None)
    if signed is not None:
        components.state_notice("signed", "done", f"Signed and appended: ledger entry {signed.index}.", "Download the receipt below and keep it.")
    elif kept.prepared is not None:
        components.state_notice("overtaken", "stale", "What you had prepared was not signed: the round was decided first.", "Read the receipt below.")
    if not status.closed:
        components.state_notice("others", "awaiting_others", f"Awaiting others: {status.approvals} of {status.required} approvals.",
                                "Another reviewer has to approve before the round counts as approved.")
    for entry in reversed(status.decisions):
        signing_receipt.receipt(view.workspace, view.desk, ledger, entry)


def decided_spans(view: View, status: RoundStatus) -> list[Span]:
    """Who decided, and how."""
    entry = status.closing or status.decisions[-1]
    word = signing_words.DECISIONS[entry.statement.predicate["decision"]][0]
    if status.closed:
        return [strong(view.manifest.round_id), text(f" was {word} by {entry.statement.signer}")]
    return [text(f"You {word} "), strong(view.manifest.round_id)]
