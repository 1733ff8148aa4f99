"""What a decision says about things outside its round: looks at the holdout, and what its reviewer sampled, opened and
disputes. As seen when the statement was prepared; a verifier cannot and does not compute it again."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from core.gates.assessment import Assessment
from core.gates.exposure_file import record_look
from core.gates.exposure_report import exposure_of
from core.gates.judge_parts import EvidenceRules
from core.gates.judge_peers import judge_history
from core.gates.judge_words import history_sentences
from core.grid import Grid
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.sampling import sampling_coverage
from core.sampling.disputes import disputes_coverage
from core.settings import SETTINGS

COVERAGE_VERSION: Final[int] = SETTINGS["signing"]["coverage_version"]


@dataclass(frozen=True, slots=True)
class Opened:
    """Pages of evidence about the round, by title, that its reviewer had opened in the session that prepared the statement, and
    those that were not. It says that a page was drawn, not that anybody read it."""

    pages: tuple[str, ...]
    not_opened: tuple[str, ...]

    def as_dict(self) -> dict[str, list[str]]:
        """JSON members."""
        return {"pages": list(self.pages), "not_opened": list(self.not_opened)}


def coverage_of(
    workspace: Workspace, source: Round, assessment: Assessment, grid: Grid, person: str, opened: Opened | None = None,
) -> dict[str, Any]:
    """The member ``coverage`` of a decision by ``person``, as the workspace stands now. The look that this decision takes is
    recorded first. ``opened``: None where no dashboard session prepared it. Raises what reading the record of looks and the
    person's labels and marks raises (LedgerError, SamplingError)."""
    record_look(workspace, source, grid, assessment.document)
    return {
        "version": COVERAGE_VERSION, "exposure": exposure_of(workspace, source, grid).as_dict(),
        "sampling": sampling_coverage(workspace, source, assessment, person), "opened": None if opened is None else opened.as_dict(),
        "disputes": disputes_coverage(workspace, source, assessment, person),
        "drift": judges_drift(workspace, source, grid, sorted(assessment.document["judges"])),
    }


def judges_drift(workspace: Workspace, source: Round, grid: Grid, judge_ids: list[str]) -> list[dict[str, Any]]:
    """Each judge against the latest earlier round of this workspace that has its verdicts, in the words of the page."""
    rules, found = EvidenceRules.of(grid), []
    for judge_id in judge_ids:
        rounds = judge_history(workspace, source, judge_id, rules).rounds
        if rounds:
            latest = rounds[0]
            found.append({
                "judge_id": judge_id, "round_id": latest.round_id, "round_digest": latest.round_digest,
                "sentences": history_sentences(latest, rules.alpha),
            })
    return found
