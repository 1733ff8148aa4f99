"""Ledger: every registration, proposal and decision of this workspace, each signed; open one, take it away, verify one."""
from __future__ import annotations

from dashboard import blocks, components, frame, loaders, signing_ledger
from dashboard.blocks import mono

workspace = frame.open_workspace()
desk = loaders.desk(workspace)
ledger = desk.ledger
if ledger is None:
    components.headline("ledger", "The ledger cannot be trusted")
    if desk.fault is not None:
        components.error_notice("ledger", desk.fault)
    components.state_notice("broken", "broken", "Nothing can be signed or exported until it is whole again.",
                            "Restore the file from a copy; the command line remembers the last head it saw.")
else:
    components.headline("ledger", signing_ledger.headline_words(ledger))
    if ledger.origin is not None:
        components.section("head", "Head", blocks.facts(signing_ledger.head_rows(ledger, workspace.ledger_file.name)))
    if not ledger.size:
        components.state_notice("empty", "empty", "Nothing has been registered, proposed or decided yet.",
                                ["A proposer starts it: ", mono("countersign propose ROUND"), "."])
    entry, unknown = signing_ledger.named_entry(ledger)
    if unknown is not None:
        components.state_notice("unknown-entry", "broken", f"The ledger has no entry {unknown}.", ["Choose one below."])
    if ledger.size:
        shown = signing_ledger.page_of(ledger)
        components.section("chain", "Entries, newest first", signing_ledger.chain_table(shown, None if entry is None else entry.index))
    if entry is not None:
        signing_ledger.opened_entry(workspace, desk, ledger, entry)
    signing_ledger.verify_upload(workspace, desk)
