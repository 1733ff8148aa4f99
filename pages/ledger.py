"""Ledger: every registration, proposal and decision of this workspace, each signed; open one, take it away, verify one."""
from __future__ import annotations

from dashboard import frame, loaders, signing_ledger

workspace = frame.open_workspace()
signing_ledger.draw(workspace, loaders.desk(workspace))
