"""What a signature says, in plain words: from a statement's predicate, or from the round before there is one. Pure.

A decision says two things at once, and neither can be signed alone: these pairs may train the next generation, and this
candidate replaces that baseline. ``core/signing/words.py`` says the same on one line each, for a terminal.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from core.grid import Grid
from core.persons.times import parse_z_time, z_time
from core.settings import SETTINGS
from core.signing.ledger import LedgerEntry
from core.signing.statement import Statement
from dashboard import blocks, words
from dashboard.blocks import Block, Span, badge, mono, muted, strong, text

Predicate = Mapping[str, Any]
_MINUTE: Final = timedelta(minutes=1)
_SECOND: Final = timedelta(seconds=1)

KINDS: Final[Mapping[str, str]] = {"registration": "lock", "proposal": "pen", "decision": "note"}
"""Kind of a ledger entry -> icon."""
DECISIONS: Final[Mapping[str, tuple[str, words.Tone, str]]] = {"approve": ("approved", "ok", "check"), "reject": ("rejected", "bad", "cross")}
"""Decision -> (word, tone, icon)."""
NEITHER_ALONE: Final = "One signature says both, and neither alone."


def pairs_words(count: int) -> str:
    """``376 admitted pairs``."""
    return words.plural(count, "admitted pair")


def consequences(decision: str, admitted: int, candidate: str, baseline: str) -> Block:
    """The two things that one signature says."""
    no = "" if decision == "approve" else " not"
    return blocks.bullets(
        ["The ", strong(pairs_words(admitted)), f" may{no} train the next generation."],
        ["The candidate ", strong(candidate), " replaces the baseline " if decision == "approve" else " does not replace the baseline ",
         strong(baseline), "."],
    )


def decision_sentence(predicate: Predicate) -> list[Span]:
    """``You, ana, approve round r-07, proposed by ben.``"""
    return [
        text("You, "), strong(predicate["reviewer"]), text(", "), strong(predicate["decision"]), text(" round "), strong(predicate["round_id"]),
        text(", proposed by "), strong(", ".join(predicate["proposers"])), text("."),
    ]


def statement_blocks(predicate: Predicate) -> list[Block]:
    """A decision in plain words: who decides what, what follows from it, and the comment that is signed with it."""
    return [
        blocks.paragraph(*decision_sentence(predicate)),
        consequences(predicate["decision"], predicate["reason_table"]["admitted"], predicate["candidate_name"], predicate["baseline_name"]),
        blocks.paragraph(muted(NEITHER_ALONE)), *comment_blocks(predicate["comment"]),
    ]


def comment_blocks(comment: str) -> list[Block]:
    """A comment in its own lines."""
    said = blocks.prose(comment) if comment else blocks.paragraph(muted("No comment."))
    return [blocks.heading("Comment, signed with the decision", level="h3"), said]


def counts_words(table: Mapping[str, int]) -> str:
    """``576 in = 377 admitted + 179 rejected + 20 held + 0 quarantined``."""
    parts = " + ".join(f"{words.count(table[name])} {name}" for name in ("admitted", "rejected", "held", "quarantined"))
    return f"{words.count(table['in'])} in = {parts}"


def model_spans(name: str, digest: str | None) -> list[Span]:
    """A model by name and digest, or the plain remark that its bytes are not identified."""
    known = blocks.digest(digest, "the model's digest") if digest else muted("no digest, so its bytes are not identified")
    return [strong(name), text(" "), known]


def lock_spans(lock: Mapping[str, Any] | None, holdout_digest: str | None, witness: int | None) -> list[Span]:
    """The holdout, its digest, who registered it, and who witnessed that."""
    if holdout_digest is None:
        return [muted("no holdout supplied")]
    said = "no registration" if lock is None else f"registered {words.registered(lock['registered_at'], lock['registered_by'])}"
    seen = "stated by the proposer only" if witness is None else f"witnessed: ledger entry {witness}, before this proposal"
    return [blocks.digest(holdout_digest, "the holdout digest"), text(f" {said}; "), muted(seen)]


def verdict_spans(predicate: Predicate) -> list[Span]:
    """The receipt of 17 fields with its digest, or the reasons of the refusal record."""
    receipt = predicate["receipt"]
    if receipt is None:
        return [text("refusal record: "), text(", ".join(item["code"] for item in predicate["refusal"]["reasons"]))]
    promote = "true" if receipt["promote_round"] else "false"
    return [blocks.digest(predicate["receipt_sha256"], "the receipt's digest"), text(" receipt of 17 fields, promote_round = "), strong(promote)]


def engine_spans(predicate: Predicate) -> list[Span]:
    """Which engine computed it, and whether its source is free of hard-coded thresholds."""
    gate = predicate["literal_gate"]
    said = f" literal gate: {words.plural(len(gate['violations']), 'violation')} in {words.count(gate['files'])} files"
    return [text(f"{predicate['engine_version']}, code "), blocks.digest(predicate["code_digest"], "the code digest"), muted(said)]


def bound_rows(predicate: Predicate) -> list[tuple[str, list[Span]]]:
    """Everything that a decision binds, one row each."""
    witness = predicate["holdout_witness"]
    return [
        ("Round", [blocks.digest(predicate["round_digest"], "the round digest"), text(f" {counts_words(predicate['reason_table'])}")]),
        ("Engine's verdict", verdict_spans(predicate)),
        ("Admitted pairs", [blocks.digest(predicate["admitted_pairs_sha256"], "the digest of the admitted pairs")]),
        ("Candidate", model_spans(predicate["candidate_name"], predicate["candidate_digest"])),
        ("Baseline", model_spans(predicate["baseline_name"], predicate["baseline_digest"])),
        ("Holdout", lock_spans(predicate["holdout_lock"], predicate["holdout_digest"], None if witness is None else witness["index"])),
        ("Grid", [blocks.digest(predicate["grid_digest"], "the grid digest")]),
        ("Engine", engine_spans(predicate)),
        ("Proposal", [blocks.digest(predicate["proposal_sha256"], "the digest of the proposal"), text(" signed by the proposer")]),
        ("Registry", [blocks.digest(predicate["registry_digest"], "the registry's digest")]),
        ("Ledger as seen", head_spans(predicate["ledger"])),
        ("Issued", [text(clock(predicate["issuedAt"]))]),
        ("Append by", [text(clock(predicate["expiresAt"]))]),
    ]


def head_spans(head: Mapping[str, Any]) -> list[Span]:
    """Size and root of a ledger."""
    return [text(words.plural(head["size"], "entry", "entries")), muted(", root "), blocks.digest(head["root"], "the root")]


def clock(stamp: str) -> str:
    """A time of a statement to the second: ``2026-11-29 19:41:07 UTC``."""
    return stamp.replace("T", " ").replace("Z", " UTC")


def time_left(expires_at: str, now: datetime) -> timedelta:
    """How long a statement may still be signed; zero once it expired."""
    expires = parse_z_time(expires_at)
    return max(timedelta(), expires - now) if expires is not None else timedelta()


def is_over(expires_at: str, now: datetime) -> bool:
    """Whether a statement can no longer be appended: the whole second that it names still counts, as in core."""
    return z_time(now) > expires_at


def left_words(left: timedelta) -> str:
    """``12 min 5 s``, ``48 s``."""
    minutes, seconds = left // _MINUTE, left % _MINUTE // _SECOND
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def grid_table(identity: str, grid: Grid, other: Grid, other_name: str) -> Block | None:
    """Keys whose value differs from another grid, or None where none does."""
    changed = grid.differences(other)
    if not changed:
        return None
    columns = [blocks.column("Key", head=True), blocks.column("This round"), blocks.column(other_name)]
    rows = [blocks.row(blocks.cell(mono(key)), blocks.cell(text(here)), blocks.cell(muted(there))) for key, here, there in changed]
    return blocks.table(identity, columns, rows, label=f"Grid keys that differ: {other_name}", fit=True)


def earlier_lines(entries: Sequence[LedgerEntry]) -> list[list[Span]]:
    """*Rejected before by X: comment*, one line for each earlier decision about the same thing."""
    lines = []
    for entry in entries:
        predicate = entry.statement.predicate
        word = DECISIONS[predicate["decision"]][0].capitalize()
        lines.append([
            strong(f"{word} before by {predicate['reviewer']}"), text(f": {comment_excerpt(predicate['comment']) or 'no comment'} "),
            muted(f"(round {predicate['round_id']}, {words.short_time(predicate['issuedAt'])}, "),
            blocks.link(f"entry {entry.index}", "ledger", entry=str(entry.index)), muted(")"),
        ])
    return lines


def refusal_words(document: Mapping[str, Any]) -> str:
    """Why the engine refuses, as one clause."""
    if document["missing_parts"]:
        return f"the round lacks {', '.join(words.PART_TITLES[part] for part in document['missing_parts'])}"
    states = {words.check_title(check["name"]): check["state"] for check in document["checks"] if check["decides"]}
    failing = [name for name, state in states.items() if state in ("fails", "undefined")]
    if failing:
        return f"{words.plural(len(failing), 'check')} {'does' if len(failing) == 1 else 'do'} not hold ({', '.join(failing)})"
    return "; ".join(item["detail"] for item in (document["refusal"] or {}).get("reasons", ())) or "a required number is undefined"


def comment_excerpt(comment: str | None) -> str:
    """A comment as one line of a table."""
    limit = SETTINGS["dashboard"]["preview_characters"]
    said = " ".join((comment or "").split())
    return said if len(said) <= limit else f"{said[:limit]}…"


def entry_badge(entry: LedgerEntry) -> Span:
    """What an entry is: registration, proposal, or how its reviewer decided."""
    if entry.kind == "decision":
        return badge(*DECISIONS[entry.statement.predicate["decision"]])
    return badge(entry.kind, "off", KINDS[entry.kind])


def entry_sentence(statement: Statement) -> list[Span]:
    """A statement in one sentence, in the third person."""
    predicate, signer = statement.predicate, strong(statement.signer)
    if statement.kind == "registration":
        return [signer, text(f" registered a holdout of {words.plural(predicate['items'], 'item')}, "),
                blocks.digest(predicate["holdout_sha256"], "the holdout digest"), text(", before any proposal that names this entry.")]
    if statement.kind == "proposal":
        return [signer, text(" proposed round "), strong(predicate["round_id"]), text(" for "), text(", ".join(predicate["proposers"])), text(".")]
    said, proposers = DECISIONS[predicate["decision"]][0], ", ".join(predicate["proposers"])
    return [signer, text(" "), strong(said), text(" round "), strong(predicate["round_id"]), text(f", proposed by {proposers}.")]
