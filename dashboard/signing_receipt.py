"""A signed decision: what it says, its verification, its export, and the command by which anyone verifies it elsewhere.

Used by Sign-off after signing, and by the Ledger for an opened entry.
"""
from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import streamlit as st

from core.errors import CountersignError, DigestMismatch, LedgerError
from core.persons.times import z_time
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.signing.evidence import EvidenceStore
from core.signing.export import Export, make_export
from core.signing.ledger import LedgerEntry, LedgerView
from core.signing.verify import Verification, verify_export
from dashboard import blocks, components, loaders, signing_dataset, signing_rules, signing_words, words
from dashboard.blocks import Block, Span, badge, mono, muted, strong, text
from dashboard.loaders import Desk

_VERIFIED: Final = "verified"
OUTCOMES: Final[Mapping[str, tuple[words.Tone, str]]] = {"APPROVED": ("ok", "check"), "REJECTED": ("bad", "cross")}
"""Last line of a verification -> (tone, icon); anything else (OPEN, SIGNATURE ONLY) is neither."""


@dataclass(frozen=True)
class Result:
    """One verification, when it ran, and what came out: a report, or the error that names what is wrong."""

    at: datetime
    report: Verification | None
    error: CountersignError | None


def export_of(workspace: Workspace, ledger: LedgerView, entry: LedgerEntry) -> Export:
    """The export of a decision. Raises DigestMismatch where the evidence beside the ledger is gone or changed."""
    return make_export(ledger, entry, EvidenceStore.beside(workspace.ledger_file))


def source_of(workspace: Workspace, digest: str) -> Round | DigestMismatch | None:
    """The round that a decision is about: opened, or why it is not the one that its folder names, or None where it is not here."""
    try:
        return workspace.round(digest)
    except DigestMismatch as mismatch:
        return mismatch
    except CountersignError:
        return None


def verify_here(workspace: Workspace, desk: Desk, export: Export) -> Result:
    """Verify and recompute under this workspace's registry, ledger, grids and round; where a part is not at hand, the signature alone."""
    assert desk.registry is not None
    source = source_of(workspace, str(export.decision_statement.predicate["round_digest"]))
    missing = source is None or desk.ledger is None
    try:
        report = verify_export(export, desk.registry, source, desk.ledger, desk.grids, signature_only=missing)
    except CountersignError as error:
        return Result(signing_rules.now(), None, error)
    return Result(signing_rules.now(), report, None)


def remembered(workspace: Workspace, desk: Desk, export: Export, *, again: bool = False) -> Result:
    """The verification of this export in this session: computed once for each registry and ledger head, or afresh on request."""
    assert desk.registry is not None
    root = "" if desk.ledger is None else desk.ledger.root
    key = (export.decision.digest, desk.registry.digest, root)
    kept: dict[tuple[str, ...], Result] = st.session_state.setdefault(_VERIFIED, {})
    if again or key not in kept:
        kept[key] = verify_here(workspace, desk, export)
    return kept[key]


def result_blocks(result: Result, who: str = "Verified") -> list[Block]:
    """A verification as blocks: the outcome first, then what was checked. Only a complete one says *verified*."""
    when = muted(f" at {signing_words.clock(z_time(result.at))}")
    report = result.report
    if report is None:
        error = result.error
        assert error is not None
        place = f"{error.where}: " if error.where is not None and str(error.where) else ""
        return [blocks.notice(
            "broken", "bad", [strong("Not valid: do not rely on it"), when],
            [text(f"{place}expected {error.expected}; got {error.got}.")],
            [text(f"To do ({error.who}): {error.remedy}. "), mono(error.code, blocks.MUTED), muted(f" exit code {error.exit_code}")], urgent=True,
        )]
    rows = [(name.capitalize(), [text(said)]) for name, said in report.checks]
    used: list[tuple[str, list[Span]]] = [("Registry used", [blocks.digest(report.registry_digest, "the registry's digest")])]
    if report.head is not None:
        used.append(("Ledger used", [*signing_words.head_spans(report.head.as_dict()), muted(" revocations after it are unknown")]))
    notes = [blocks.bullets(*([muted(note)] for note in report.notes))] if report.notes else []
    return [_outcome(report, who, when), blocks.facts([*rows, *used]), *notes]


def _outcome(report: Verification, who: str, when: Span) -> Block:
    if report.signature_only:
        return blocks.notice(
            "question", "off", [badge(report.outcome, "off", "question"), strong(" Only the signatures were checked"), when],
            ["The round or the ledger is not at hand, so nothing was computed again, and whether the decision stands is unknown."],
        )
    tone, icon = OUTCOMES.get(report.outcome, ("off", "open"))
    return blocks.notice(
        icon, tone, [badge(report.outcome, tone, icon), strong(f" {who} and recomputed"), when],
        ["Signatures, persons, ledger and grid hold, every file has its digest, and the engine gives the same decision byte for byte."],
    )


def verification(workspace: Workspace, desk: Desk, export: Export) -> None:
    """Draw the verification of a decision in this workspace's ledger, with a way to run it again."""
    key = export.decision.digest
    again = st.session_state.get(f"again-{key}", False)
    source = source_of(workspace, str(export.decision_statement.predicate["round_digest"]))
    quick = not isinstance(source, Round) or loaders.is_quick(source)
    if desk.registry is None:
        components.state_notice("verify", "no_permission", "Nobody is enrolled in this workspace.", "A registry is needed to tell whose key signed.")
        return
    if not quick and not again:
        components.state_notice("verify", "very_large", "This round is too large to recompute while a page waits.", "Run the command below.")
        return
    components.section(f"verification-{key}", "Verification", *result_blocks(remembered(workspace, desk, export, again=again)))
    st.button("Verify again", key=f"again-{key}", icon=":material/refresh:")


def command(workspace: Workspace, export: Export) -> str:
    """The command by which anyone who has the files verifies this export."""
    root, digest = workspace.root, str(export.decision_statement.predicate["round_digest"])
    parts = [
        "countersign", "verify", export.file_name, "--registry", str(workspace.registry_file), "--round", str(root / "rounds" / digest),
        "--ledger", str(workspace.ledger_file), *(["--grids", str(workspace.grids_file)] if workspace.grids_file.is_file() else []),
    ]
    return shlex.join(parts)


def take_away(workspace: Workspace, export: Export) -> None:
    """The export for download, and the command that verifies it."""
    key = export.decision.digest
    components.section(
        f"take-{key}", "Verify it anywhere",
        blocks.paragraph("The export holds both signed envelopes, the receipt and the list of admitted pairs. Whoever has it, the registry, the "
                         "round and the ledger verifies and recomputes it offline, without this dashboard."),
    )
    st.download_button(
        "Download the receipt", export.zip_bytes, file_name=export.file_name, mime="application/zip", key=f"export-{key}", type="primary",
        icon=":material/download:", on_click="ignore",
    )
    components.code(command(workspace, export))


def receipt(workspace: Workspace, desk: Desk, ledger: LedgerView, entry: LedgerEntry) -> None:
    """A decision of the ledger: what it says, its verification, its export."""
    predicate, key = entry.statement.predicate, entry.digest
    components.section(f"receipt-{key}", "The receipt", blocks.facts([
        ("Decision", [signing_words.entry_badge(entry), text(f" by {entry.statement.signer}, {signing_words.clock(predicate['issuedAt'])}")]),
        ("Ledger entry", [blocks.link(str(entry.index), "ledger", entry=str(entry.index)), text(" "),
                          blocks.digest(entry.digest, "the envelope's digest")]),
        ("Engine's verdict", signing_words.verdict_spans(predicate)),
        ("Key", [mono(entry.envelope.signature.keyid)]),
    ]), *signing_words.comment_blocks(predicate["comment"]))
    proof(workspace, desk, ledger, entry)


def proof(workspace: Workspace, desk: Desk, ledger: LedgerView, entry: LedgerEntry, *, offered: bool = True) -> None:
    """The verification of a decision, its export, and the command for everybody else. ``offered``: False for a line that counts
    for nothing, which nobody should take away as a receipt."""
    key = entry.digest
    try:
        export = export_of(workspace, ledger, entry)
    except (DigestMismatch, LedgerError) as error:
        components.error_notice(f"export-{key}", error)
        return
    verification(workspace, desk, export)
    if offered:
        take_away(workspace, export)
        signing_dataset.offer(workspace, desk, entry, source_of(workspace, str(export.decision_statement.predicate["round_digest"])))
