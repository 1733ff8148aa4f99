"""Lines of a ledger that nobody signed, written past every rule of admission."""
from __future__ import annotations

from support_signing import Actor

from core.canonical import canonical_bytes
from core.signing.dsse import Envelope, Signature
from core.signing.ledger import Ledger, LedgerEntry, LedgerView
from core.signing.statement import PAYLOAD_TYPE, Statement, parse_statement


def unsigned(statement: Statement, actor: Actor) -> Envelope:
    """A statement under somebody's key id with a signature that nobody made."""
    return Envelope(PAYLOAD_TYPE, statement.payload, Signature(actor.public.keyid, bytes(64)))


def append_by_hand(ledger: Ledger, *envelopes: Envelope) -> LedgerView:
    """Lines and head written into the files, past every rule of admission."""
    entries = list(ledger.read().entries)
    for envelope in envelopes:
        entries.append(LedgerEntry(len(entries), envelope, parse_statement(envelope.payload)))
    view = LedgerView(str(entries[0].statement.predicate["ledger"]["origin"]), tuple(entries))
    ledger.file.parent.mkdir(parents=True, exist_ok=True)
    ledger.file.write_bytes(b"".join(entry.line + b"\n" for entry in entries))
    ledger.head_file.write_bytes(canonical_bytes(view.head.as_dict()))
    return view
