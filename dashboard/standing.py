"""Where a round stands for whoever sits there: the ledger's word, the engine's verdict and the person, put together. Pure."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import IdentityError
from core.gates.receipt import PROMOTE_AWAITING
from core.persons.registry import Registry, same_person, self_review
from core.rounds.manifest import RoundManifest
from core.signing.ledger import LedgerEntry
from core.signing.status import RoundStatus, State
from dashboard import words
from dashboard.blocks import Span, Tone, badge, link, mono, muted, strong, text


@dataclass(frozen=True)
class Standing:
    """A round's state in words. ``kind``: a key of ``words.PAGE_STATES``; ``awaits``: this person may decide it now."""

    word: str
    tone: Tone
    icon: str
    kind: str
    sentence: str
    next_step: tuple[Span | str, ...]
    awaits: bool = False

    @property
    def badge(self) -> Span:
        return badge(self.word, self.tone, self.icon)


def standing(
    manifest: RoundManifest, document: Mapping[str, Any] | None, status: RoundStatus | None, person: str | None, registry: Registry | None,
    stale: str | None = None,
) -> Standing:
    """Put the three together. ``status`` None: the ledger cannot be read. ``stale``: why what was signed no longer fits, or None."""
    if status is None:
        return Standing("unknown", "off", "question", "broken", "The ledger cannot be read, so nobody can tell whether this round is decided.",
                        ("Restore the ledger from a copy; the ", link("Ledger page", "ledger"), " names what is wrong."))
    if status.state is State.APPROVED:
        return _decided(status, "approved", "ok", "check", "Approved by {}.", stale)
    if status.state is State.REJECTED:
        return _decided(status, "rejected by reviewer", "bad", "cross", "Rejected by {}.", stale)
    if status.state is State.NOT_PROPOSED:
        return Standing(
            "not proposed", "off", "pen", "not_proposed", f"Not proposed yet: {', '.join(manifest.proposers)} has to sign it first.",
            ("The proposer runs ", mono(f"countersign propose {words.short_digest(status.round_digest)}"), "."),
        )
    if stale is not None:
        return Standing("stale", "bad", "stale", "stale", stale, ("The proposer has to propose it again.",))
    return _proposed(manifest, document, status, person, registry)


def _decided(status: RoundStatus, word: str, tone: Tone, icon: str, sentence: str, stale: str | None) -> Standing:
    assert status.closing is not None
    said = sentence.format(status.closing.statement.signer) + (f" {stale}" if stale else "")
    step = ("The signed receipt is in the ", link("ledger", "ledger"), ": anyone can verify and recompute it.")
    return Standing(word, tone, icon, "done", said, step)


def _proposed(
    manifest: RoundManifest, document: Mapping[str, Any] | None, status: RoundStatus, person: str | None, registry: Registry | None,
) -> Standing:
    refused = document is not None and document["verdict"] != PROMOTE_AWAITING
    word, tone, icon = ("refused", "bad", "refuse") if refused else ("proposed", "off", "pen")
    engine = "The engine refuses this round; a reviewer can sign the refusal as a rejection." if refused else "The engine would promote this round."
    progress = f" {status.approvals} of {status.required} approvals." if status.required > 1 else ""
    closed_to_you = may_not_decide(manifest, status, person, registry)
    if closed_to_you is None:
        step = ("Read the evidence, then go to ", link("Sign-off", "sign_off"), ".")
        return Standing(word, tone, icon, "awaiting_you", f"Awaiting you. {engine}{progress}", step, awaits=True)
    other = " other than you" if person else ""
    return Standing(word, tone, icon, "awaiting_others", f"Awaiting a reviewer{other}. {engine}{progress}", (closed_to_you,))


def may_not_decide(manifest: RoundManifest, status: RoundStatus, person: str | None, registry: Registry | None) -> str | None:
    """Why this person cannot decide the round, or None. What signing checks again, said early; it grants nothing."""
    if person is None or registry is None:
        return "Say who you are in the side bar to see whether it awaits you."
    enrolled = registry.find(person)
    if enrolled is None or "reviewer" not in enrolled.roles:
        return f"{person} is not enrolled as a reviewer."
    try:
        if self_review(person, manifest.proposers, registry) is not None:
            return f"{person} proposed this round: nobody approves their own round."
    except IdentityError as error:
        return f"A proposer's id cannot be read: {error.got}."
    if any(same_person(person, entry.statement.signer, registry) for entry in status.decisions):
        return f"{person} has decided this round already."
    return None


def signer_words(status: RoundStatus | None) -> str:
    """Who signed: the one who closed the round, or who approved so far; empty where nobody did."""
    if status is None:
        return ""
    if status.closing is not None:
        return str(status.closing.statement.signer)
    return ", ".join(entry.statement.signer for entry in status.decisions)


def earlier_rejections(entries: Sequence[LedgerEntry], round_id: str) -> list[list[Span]]:
    """*rejected before by X: comment*, one line each, and as what: the same id again, or another id with the same candidate or pairs."""
    lines = []
    for entry in entries:
        if not entry.statement.approves:
            predicate = entry.statement.predicate
            comment = predicate.get("comment") or "no comment"
            other = "" if predicate["round_id"] == round_id else f"as {predicate['round_id']}, which has the same candidate or pairs; "
            lines.append([
                text("rejected before by "), strong(entry.statement.signer), text(f": {comment} "), muted(f"({other}"),
                link(f"ledger entry {entry.index}", "ledger", entry=str(entry.index)), muted(")"),
            ])
    return lines
