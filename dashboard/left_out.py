"""Lines of the ledger that count for nothing: which they are, why, and who has to act. Pure.

Somebody who may write the ledger file can append a line that no key made, or one of a person who may not. Such a line decides
nothing on any page; it is shown as what it is, so that nobody wonders about it and somebody looks into it.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from core.errors import CountersignError, SignatureError
from core.signing.ledger import LedgerEntry, LedgerView
from core.signing.status import round_status
from dashboard import blocks, words
from dashboard.blocks import Block, Span, badge, link, mono, muted, strong, text

WORD: Final = "counts for nothing"
_FORGED: Final = "To do (keeper of the workspace): find out who wrote it, and restore the ledger from a copy."


def mark() -> Span:
    """The badge of such a line, beside what it claims to be."""
    return badge(WORD, "bad", "broken")


def reason(fault: CountersignError) -> list[Span]:
    """What is wrong with a line, and who has to act, as a terminal says it."""
    return [text(f"Expected {fault.expected}; got {fault.got}. {todo(fault)} "), mono(fault.code, blocks.MUTED)]


def todo(fault: CountersignError) -> str:
    """Who has to act. A signature that no key of that person made was written by somebody else; a person or a key that the
    registry does not carry (any more) is a matter of the registry."""
    return _FORGED if isinstance(fault, SignatureError) else f"To do ({fault.who}): {fault.remedy}."


def claim(entry: LedgerEntry) -> str:
    """What a line claims, in a few words: ``an approval by ana``."""
    if entry.kind == "decision":
        kind = "an approval" if entry.statement.approves else "a rejection"
    else:
        kind = {"proposal": "a proposal", "registration": "a registration of a holdout"}[entry.kind]
    return f"{kind} by {entry.statement.signer}"


def ledger_notice(entries: Sequence[LedgerEntry]) -> Block | None:
    """Above the chain: how many lines count for nothing, and what to do; None where each one holds."""
    if not entries:
        return None
    what, verb = words.plural(len(entries), "entry", "entries"), "counts" if len(entries) == 1 else "count"
    return blocks.notice(
        "broken", "bad", [strong(f"{what} {verb} for nothing: "), *_numbers(entries), text(".")],
        ["Under this registry no person who may sign it stands behind a marked line, so it decides nothing on any page, in ",
         mono("decide --require-approved"), " or in ", mono("verify"), ". Each line below says why, and who has to act."],
    )


def round_notice(ledger: LedgerView, signed: LedgerView, entries: Sequence[LedgerEntry], faults: Mapping[int, CountersignError]) -> Block | None:
    """On a round's own page: which lines about it were left out, why, and whether they stand in the way of signing."""
    if not entries:
        return None
    one = len(entries) == 1
    count = f"{words.plural(len(entries), 'line')} of the ledger about this round {'was' if one else 'were'} left out: "
    lines: list[list[Span | str]] = [[strong(count), f"no signature that counts stands behind {'it' if one else 'them'}."]]
    lines += [[link(f"entry {entry.index}", "ledger", entry=str(entry.index)), text(f" claims {claim(entry)}. "), *reason(faults[entry.index])]
              for entry in entries]
    blocked = _in_the_way(ledger, signed, entries)
    lines.append(["Until then nobody can sign or propose here." if blocked else "Nothing else here changes by it."])
    return blocks.notice("broken", "bad", *lines)


def _in_the_way(ledger: LedgerView, signed: LedgerView, entries: Sequence[LedgerEntry]) -> bool:
    """Whether the chain with these lines says something else of the round: appending reads the whole chain, and refuses."""
    digest = str(entries[0].statement.round_digest)
    whole, held = round_status(ledger, digest), round_status(signed, digest)
    return (whole.proposal, whole.decisions) != (held.proposal, held.decisions)


def row_line(entries: Sequence[LedgerEntry]) -> list[Span]:
    """In the list of rounds: which lines about a round were left out."""
    if not entries:
        return []
    return [text("left out: ", "bad"), *_numbers(entries), muted(f", which {'counts' if len(entries) == 1 else 'count'} for nothing")]


def _numbers(entries: Sequence[LedgerEntry]) -> list[Span]:
    spans: list[Span] = []
    for entry in entries:
        spans += [*([text(", ")] if spans else []), link(f"entry {entry.index}", "ledger", entry=str(entry.index))]
    return spans
