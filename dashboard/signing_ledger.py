"""The ledger page: the chain newest first, its head, an opened entry, and the verification of an uploaded export."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from core.errors import CountersignError
from core.persons.person import Person, RegisteredKey
from core.persons.registry import Registry
from core.persons.times import parse_z_time, z_time
from core.rounds.workspace import Workspace
from core.settings import SETTINGS
from core.signing.admission import check_person, check_signature
from core.signing.export import Export, parse_export
from core.signing.ledger import LedgerEntry, LedgerView
from dashboard import blocks, components, left_out, navigation, signing_evidence, signing_receipt, signing_sign, signing_words, words
from dashboard.blocks import Block, Span, badge, mono, muted, strong, text
from dashboard.loaders import Desk

_ROWS: Final[int] = SETTINGS["display"]["page_rows"]
_UPLOAD: Final = "uploaded_export"


def draw(workspace: Workspace, desk: Desk) -> None:
    """The whole page: the chain, or one entry of it."""
    ledger = desk.ledger
    if ledger is None:
        components.headline("ledger", "The ledger cannot be trusted")
        if desk.fault is not None:
            components.error_notice("ledger", desk.fault)
        components.state_notice("broken", "broken", "Nothing can be signed or exported until it is whole again.",
                                "Restore the file from a copy; the command line remembers the last head it saw.")
        return
    entry, unknown = named_entry(ledger)
    if entry is not None:
        opened_entry(workspace, desk, ledger, entry)
        return
    components.headline("ledger", headline_words(ledger, desk.faults))
    if unknown is not None:
        components.state_notice("unknown-entry", "broken", f"The ledger has no entry {unknown}.", "Choose one below.")
    _chain(ledger, desk)
    if desk.registry is not None:
        components.section("revocations", "Revocations and expiries", *revocations(desk.registry))
    verify_upload(workspace, desk)


def _chain(ledger: LedgerView, desk: Desk) -> None:
    notice = left_out.ledger_notice(desk.left_out())
    if notice is not None:
        components.sheet("left-out", notice)
    if ledger.origin is not None:
        components.sheet("head", blocks.facts(head_rows(ledger)))
    if ledger.size:
        components.section("chain", "Entries, newest first", chain_table(page_of(ledger), desk.faults))
    else:
        components.state_notice("empty", "empty", "Nothing has been registered, proposed or decided yet.",
                                ["A proposer starts it: ", mono("countersign propose ROUND"), "."])


def headline_words(ledger: LedgerView, faults: Mapping[int, CountersignError]) -> str:
    """How much is on record; a line that counts for nothing is no decision."""
    if not ledger.size:
        return "The ledger is empty"
    decided = sum(entry.kind == "decision" and entry.index not in faults for entry in ledger.entries)
    void = f"; {words.count(len(faults))} {'counts' if len(faults) == 1 else 'count'} for nothing" if faults else ""
    return f"{words.plural(ledger.size, 'entry', 'entries')} on record, {words.plural(decided, 'decision')} among them{void}"


def head_rows(ledger: LedgerView) -> list[tuple[str, list[Span]]]:
    """The head of the chain: compare it with one that you wrote down elsewhere to notice a dropped tail."""
    rows: list[tuple[str, list[Span]]] = [
        ("Head", [strong(words.plural(ledger.size, "entry", "entries")), muted(", root "), blocks.digest(ledger.root, "the root of the Merkle tree"),
                  muted(" write it down elsewhere: a dropped or changed entry shows")]),
        ("Name", [mono(ledger.origin or "no name yet")]),
    ]
    if ledger.torn:
        torn = f" {words.plural(ledger.torn, 'byte')} after the last line: never acknowledged, counts for nothing, is cut by the next append"
        rows.append(("Torn end", [badge("warning", "off", "warning"), text(torn)]))
    return rows


def revocations(registry: Registry) -> list[Block]:
    """Persons and keys whose signatures stop counting at an entry or a time, as the registry says now."""
    rows = [(blocks.cell(strong(person.id)), *_limits(person)) for person in registry.persons if _is_limited(person)]
    rows += [(blocks.cell(strong(person.id), text("  "), mono(key.public.keyid)), *_limits(key))
             for person in registry.persons for key in person.keys if _is_limited(key)]
    used = blocks.paragraph(muted("By the registry "), blocks.digest(registry.digest, "the registry's digest"), muted(" as it stands here. "),
                            muted("An entry made before a revocation keeps counting; later ones are unknown." if rows else
                                  "No person and no key in it is revoked or expires."))
    columns = [blocks.column("Person or key", head=True), blocks.column("Revoked"), blocks.column("Expires")]
    table = [blocks.table("revocations", columns, [blocks.row(*cells) for cells in rows], label="Revocations and expiries", fit=True)]
    return [*(table if rows else []), used]


def _is_limited(holder: Person | RegisteredKey) -> bool:
    return holder.revoked_from_index is not None or holder.expires is not None


def _limits(holder: Person | RegisteredKey) -> tuple[dict[str, Any], dict[str, Any]]:
    index, expires = holder.revoked_from_index, holder.expires
    revoked = muted("no") if index is None else text(f"from entry {words.count(index)} on")
    return blocks.cell(revoked), blocks.cell(muted("no") if expires is None else text(words.short_time(z_time(expires)), "nowrap"))


def page_of(ledger: LedgerView) -> list[LedgerEntry]:
    """The entries of the present page, newest first."""
    newest = list(reversed(ledger.entries))
    pages = -(-len(newest) // _ROWS)
    page = st.pagination(pages, key="entries_page", bind="query-params") if pages > 1 else 1
    return newest[(page - 1) * _ROWS:page * _ROWS]


def chain_table(entries: list[LedgerEntry], faults: Mapping[int, CountersignError]) -> Block:
    """One row an entry; one that counts for nothing says why below it."""
    columns = [
        blocks.column("Entry", align="right"), blocks.column("What"), blocks.column("Round"), blocks.column("Who"), blocks.column("When"),
        blocks.column("Comment"),
    ]
    return blocks.table("chain", columns, [_row(entry, faults.get(entry.index)) for entry in entries], label="Entries of the ledger, newest first")


def _row(entry: LedgerEntry, fault: CountersignError | None) -> dict[str, Any]:
    predicate = entry.statement.predicate
    what = [signing_words.entry_badge(entry)] if fault is None else [left_out.mark()]
    reason = [] if fault is None else [text(f"Claims {left_out.claim(entry)}. "), *left_out.reason(fault)]
    return blocks.row(
        blocks.cell(blocks.link(str(entry.index), "ledger", entry=str(entry.index), title="Open this entry")),
        blocks.cell(*what), blocks.cell(*_about(entry)), blocks.cell(text(entry.statement.signer, "keep")),
        blocks.cell(text(words.short_time(predicate["issuedAt"]), "nowrap")),
        blocks.cell(text(signing_words.comment_excerpt(predicate.get("comment")))),
        tone=None if fault is None else "bad", detail=reason,
    )


def _about(entry: LedgerEntry) -> list[Span]:
    predicate = entry.statement.predicate
    if entry.kind == "registration":
        return [muted("holdout "), blocks.digest(predicate["holdout_sha256"], "the holdout digest")]
    return [blocks.link(predicate["round_id"], "overview", round=words.short_digest(predicate["round_digest"]))]


def named_entry(ledger: LedgerView) -> tuple[LedgerEntry | None, str | None]:
    """The entry that the URL opens; and what it named, where there is no such entry."""
    named = navigation.view("entry")
    if named is None:
        return None, None
    # isdecimal alone takes other scripts' digits
    index = int(named) if named.isascii() and named.isdecimal() and len(named) <= len(str(ledger.size)) else ledger.size
    return (ledger.entries[index], None) if index < ledger.size else (None, named)


def signature_check(entry: LedgerEntry, desk: Desk) -> Block:
    """Whether the signature holds under this workspace's registry: key, person, role, at the time and place of the entry."""
    issued = parse_z_time(entry.statement.predicate["issuedAt"])
    if desk.registry is None or issued is None:
        return blocks.notice("question", "off", [strong("Not checked.")], ["Nobody is enrolled here, so nobody can tell whose key signed."])
    try:
        person = check_person(entry.statement, desk.registry, at=issued, index=entry.index)
        check_signature(entry.envelope, person, desk.registry, at=issued, index=entry.index)
    except CountersignError as error:
        return blocks.notice(
            "broken", "bad", [strong("It does not hold under this registry."), text(" This entry counts for nothing.")],
            left_out.reason(error),
        )
    said = f" by {person.id}, with their key, enrolled and not revoked for this entry"
    return blocks.notice("check", "ok", [strong("The signature holds"), text(said)], [mono(entry.envelope.signature.keyid, blocks.MUTED)])


def opened_entry(workspace: Workspace, desk: Desk, ledger: LedgerView, entry: LedgerEntry) -> None:
    """Everything about one entry, in place of the list."""
    predicate, key = entry.statement.predicate, f"entry-{entry.index}"
    void = entry.index in desk.faults
    components.headline(
        key, f"Entry {entry.index} of {words.count(ledger.size)}: ", left_out.mark() if void else signing_words.entry_badge(entry), lead=[
            *([strong("It claims: ")] if void else []), *signing_words.entry_sentence(entry.statement), text(" "), *_neighbours(ledger, entry)])
    comment = signing_words.comment_blocks(predicate["comment"]) if entry.kind == "decision" else []
    components.section(f"{key}-signature", "Signature", signature_check(entry, desk), *comment)
    if entry.kind == "decision":
        signing_receipt.proof(workspace, desk, ledger, entry, offered=not void)
        components.section(f"{key}-evidence", "What it says of the evidence", signing_evidence.signed_block(predicate))
        rows = [("Envelope", [blocks.digest(entry.digest, "the envelope's digest")]), *signing_words.bound_rows(predicate)]
        components.section(f"{key}-bound", "What it binds", blocks.facts(rows))
    else:
        components.section(f"{key}-bound", "What it says", blocks.facts(plain_rows(entry)))
    signing_sign.exact_bytes(key, entry.statement.payload, entry.statement.digest, "These bytes were signed.")
    st.download_button(
        "Download the envelope", entry.line, file_name=f"entry-{entry.index}-{entry.kind}.json", mime="application/json",
        key=f"envelope-{entry.index}", icon=":material/download:", on_click="ignore",
    )


def _neighbours(ledger: LedgerView, entry: LedgerEntry) -> list[Span]:
    """Ways to the list and to the entries beside this one."""
    spans = [blocks.link("All entries", "ledger")]
    if entry.index:
        spans += [muted(" · "), blocks.link("Older", "ledger", entry=str(entry.index - 1))]
    if entry.index + 1 < ledger.size:
        spans += [muted(" · "), blocks.link("Newer", "ledger", entry=str(entry.index + 1))]
    return spans


def plain_rows(entry: LedgerEntry) -> list[tuple[str, list[Span]]]:
    """Members of a registration or a proposal."""
    predicate = entry.statement.predicate
    rows: list[tuple[str, list[Span]]] = []
    if entry.kind == "registration":
        items = text(f" {words.plural(predicate['items'], 'item')}")
        rows += [("Holdout", [blocks.digest(predicate["holdout_sha256"], "the holdout digest"), items])]
    else:
        supersedes = ", ".join(str(item["index"]) for item in predicate["supersedes"])
        rows += [
            ("Round", [strong(predicate["round_id"]), text(" "), blocks.digest(predicate["round_digest"], "the round digest")]),
            ("Proposers", [text(", ".join(predicate["proposers"]))]),
            ("Candidate", signing_words.model_spans(predicate["candidate_name"], predicate["candidate_digest"])),
            ("Baseline", signing_words.model_spans(predicate["baseline_name"], predicate["baseline_digest"])),
            ("Grid", [blocks.digest(predicate["grid_digest"], "the grid digest")]),
            ("Supersedes", [text(f"decisions at entries {supersedes}") if supersedes else muted("no earlier decision about the same thing")]),
        ]
    return [
        *rows, ("Signed by", [strong(entry.statement.signer)]), ("Registry", [blocks.digest(predicate["registry_digest"], "the registry's digest")]),
        ("Ledger as seen", signing_words.head_spans(predicate["ledger"])), ("Issued", [text(signing_words.clock(predicate["issuedAt"]))]),
        ("Envelope", [blocks.digest(entry.digest, "the envelope's digest")]),
    ]


def verify_upload(workspace: Workspace, desk: Desk) -> None:
    """Verify an export that somebody hands over, against this workspace's registry, ledger and round."""
    components.section(
        "verify", "Verify a receipt",
        blocks.paragraph("Upload an export (the .zip file that a receipt is downloaded as). It is checked against this workspace's registry, "
                         "ledger and round, and the decision is computed again. Nothing is stored."),
    )
    uploaded = st.file_uploader("Export of a decision", type=["zip"], key=_UPLOAD, max_upload_size=SETTINGS["server"]["max_upload_mb"])
    if uploaded is None:
        return
    if desk.registry is None:
        components.state_notice("no-registry", "no_permission", "Nobody is enrolled in this workspace.", "Without a registry no key can be trusted.")
        return
    try:
        export = parse_export(uploaded.getvalue())
    except CountersignError as error:
        components.state_notice("verify-broken", "broken", "Not valid: this is not an export as it was written.", "Do not rely on it.", urgent=True)
        components.error_notice("verify", error)
        return
    components.sheet("verify-what", blocks.paragraph(*uploaded_sentence(export)))
    components.sheet("verify-result", *signing_receipt.result_blocks(signing_receipt.verify_here(workspace, desk, export)))


def uploaded_sentence(export: Export) -> list[Span]:
    """What the uploaded file claims, before anything is believed."""
    return [muted("The file says: "), *signing_words.entry_sentence(export.decision_statement)]
