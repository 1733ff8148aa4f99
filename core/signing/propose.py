"""The proposer's side: registering a holdout before a round exists, and proposing a round under a grid."""
from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from core.canonical import canonical_digest, parse_json
from core.errors import LedgerError, RoundError, Where
from core.grid import Grid
from core.persons.authority import authorised_person
from core.persons.identity import canonical_id
from core.persons.registry import Registry
from core.persons.times import z_time
from core.rounds.folder import Round
from core.rounds.source import Item, holdout_items
from core.rounds.typing_rows import RawRow
from core.rounds.workspace import Workspace
from core.settings import SETTINGS
from core.signing.admission import Rules, admit, check_statement
from core.signing.dsse import Signer, seal
from core.signing.grids import AcceptedGrids
from core.signing.ledger import Ledger, LedgerEntry, LedgerView
from core.signing.statement import PAYLOAD_TYPE, Statement, build_statement
from core.signing.status import earlier_decisions, reference, round_identity


def common_members(view: LedgerView, registry: Registry, now: datetime, nonce: str | None = None) -> dict[str, Any]:
    """Members of every predicate: when, under which registry, and the ledger as seen. ``nonce``: hex; random when None."""
    expires = now + timedelta(seconds=SETTINGS["signing"]["statement_ttl_s"])
    return {
        "registry_digest": registry.digest, "ledger": view.head.as_dict(), "issuedAt": z_time(now), "expiresAt": z_time(expires),
        "nonce": secrets.token_hex(SETTINGS["signing"]["nonce_bytes"]) if nonce is None else nonce,
    }


def round_members(source: Round, grid: Grid) -> dict[str, Any]:
    """Members that proposal and decision share: the round, its persons, models and holdout, and the grid."""
    manifest = source.manifest
    lock = manifest.holdout_lock
    return {
        "round_id": manifest.round_id, "round_digest": source.digest, "grid_digest": grid.digest,
        "holdout_lock": None if lock is None else lock.document(), "holdout_digest": source.holdout_digest,
        "candidate_name": manifest.candidate.name, "candidate_digest": manifest.candidate.digest,
        "baseline_name": manifest.baseline.name, "baseline_digest": manifest.baseline.digest,
        "proposers": list(dict.fromkeys(canonical_id(proposer) for proposer in manifest.proposers)),
    }


def sign_now(workspace: Workspace, make: Callable[[LedgerView], Statement], signer: Signer, rules: Rules) -> LedgerEntry:
    """Make, check, sign and append in one go: for statements that nobody has to read twice.

    Made anew once where somebody else's line came between: a ledger without lines gets its name from the first one, and a
    decision just appended may have to be named."""
    ledger = Ledger(workspace.ledger_file)
    view = ledger.read()
    try:
        return _sign_and_append(ledger, view, make(view), signer, rules)
    except LedgerError as problem:
        if problem.code != "supersedes_changed" and (problem.code != "ledger_changed" or view.size):
            raise
    view = ledger.read()
    return _sign_and_append(ledger, view, make(view), signer, rules)


def _sign_and_append(ledger: Ledger, view: LedgerView, statement: Statement, signer: Signer, rules: Rules) -> LedgerEntry:
    check_statement(view, statement, rules)
    envelope = seal(PAYLOAD_TYPE, statement.payload, signer)
    return ledger.append(envelope, lambda now: admit(now, envelope, statement, rules))


def propose(
    workspace: Workspace, source: Round, grid: Grid, proposer_id: str, signer: Signer, registry: Registry, now: datetime, *, nonce: str | None = None,
) -> LedgerEntry:
    """Sign a proposal of this round under this grid and append it. Returns its ledger entry.

    Raises IdentityError (not enrolled, not a proposer of the round, ...), GridNotAccepted, LedgerError
    (``already_proposed``, ``round_closed``), DigestMismatch when the round's files changed, and what the signer raises."""
    person = authorised_person(registry, proposer_id, "proposer", at=now, index=0)
    rules = Rules(registry, AcceptedGrids.of(workspace), now)
    source.verify_files()
    identity = round_identity(source)

    def make(view: LedgerView) -> Statement:
        return build_statement("proposal", {
            **common_members(view, registry, now, nonce), **round_members(source, grid), "proposer": person.id,
            "pairs_digest": identity["pairs_digest"], "supersedes": [reference(entry) for entry in earlier_decisions(view, identity)],
        })

    return sign_now(workspace, make, signer, rules)


def lock_holdout(
    workspace: Workspace, data: bytes, person_id: str, signer: Signer, registry: Registry, now: datetime, *, file: str | None = None,
    nonce: str | None = None,
) -> LedgerEntry:
    """Sign a registration of a holdout (``data``: its JSON list) and append it, so that the ledger witnesses that it
    existed before a round was proposed. Returns the entry; the digest is ``statement.predicate["holdout_sha256"]``."""
    person = authorised_person(registry, person_id, None, at=now, index=0)
    items = holdout_list(data, file)

    def make(view: LedgerView) -> Statement:
        return build_statement("registration", {
            **common_members(view, registry, now, nonce), "holdout_sha256": canonical_digest(items), "items": len(items),
            "registered_by": person.id,
        })

    return sign_now(workspace, make, signer, Rules(registry, AcceptedGrids.of(workspace), now))


def holdout_list(data: bytes, file: str | None) -> list[Item]:
    """A holdout as a round will take it: a JSON list of objects with different ids and a prompt, numbers as integers.
    Raises RoundError."""
    items = parse_json(data, where=Where(file), integers_only=True)
    if not isinstance(items, list):
        raise RoundError("empty_holdout", expected="a list of items", got="none", remedy="write the items as a JSON list", where=Where(file))
    return holdout_items((RawRow(line, item, "") for line, item in enumerate(items, start=1)), lambda line: (Where(file), f"[{line - 1}]"))
