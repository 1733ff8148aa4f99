"""Which grid a round is computed under where nobody states one: that of its proposal."""
from __future__ import annotations

from core.grid import Grid, default_grid
from core.persons.registry import Registry
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.signing.admission import sound_view
from core.signing.grids import AcceptedGrids
from core.signing.ledger import Ledger
from core.signing.status import round_status


def grid_of_round(workspace: Workspace, source: Round) -> Grid:
    """The grid of the round's proposal, else the default grid. A proposal counts where it holds under the workspace's registry: a line that
    nobody signed chooses no thresholds. Raises RegistryError, LedgerError, and GridNotAccepted for a grid that nobody accepted."""
    ledger = Ledger(workspace.ledger_file)
    if not (ledger.exists() and workspace.registry_file.is_file()):
        return default_grid()
    proposal = round_status(sound_view(ledger.read(), Registry.load(workspace.registry_file)), source.digest).proposal
    return default_grid() if proposal is None else AcceptedGrids.of(workspace).grid(proposal.statement.predicate["grid_digest"])
