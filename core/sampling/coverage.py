"""What a decision statement says about the sample that its reviewer judged."""
from __future__ import annotations

from typing import Any, Final

from core.gates.assessment import Assessment
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.sampling.draw import Population
from core.sampling.result import VERDICTS, SampleResult, verifier_flags
from core.sampling.review import Review, Sample
from core.settings import SETTINGS

COVERAGE_VERSION: Final[int] = SETTINGS["sampling"]["coverage_version"]
NOT_STARTED: Final = "not_started"


def result_of(assessment: Assessment, sample: Sample) -> SampleResult:
    """A sample, read against the verifier's verdicts of its assessment."""
    return SampleResult(sample, verifier_flags(assessment.scored_path, tuple(label.pair_id for label in sample.labels)))


def sampling_coverage(workspace: Workspace, source: Round, assessment: Assessment, person: str) -> dict[str, Any]:
    """What ``person`` sampled of the admitted pairs of this assessment, as JSON with the same members at every time.

    ``state``: ``not_started``, ``open`` (unjudged pairs count as defects), ``ended_early`` (so too) or ``complete``; before a
    sample is drawn every other member is null but the counts, which are 0. Raises SamplingError for labels that cannot be
    read, IdentityError for an id outside the grammar.
    """
    population = Population.of(assessment)
    review = Review(workspace, population, assessment.grid_digest, person)
    sample = review.sample()
    common = {"version": COVERAGE_VERSION, "verification": source.manifest.verification}
    if sample is not None:
        return common | result_of(assessment, sample).as_dict()
    return common | {
        "state": NOT_STARTED, "person": review.person, "method": None, "population": population.size, "max_defect_rate": None,
        "confidence": None, "sizes": [], "seed": None, "seeds_drawn": review.seeds(), "admitted_sha256": population.admitted_sha256,
        "grid_digest": assessment.grid_digest, "shown": 0, "judged": 0, "unjudged": 0, "taken_back": 0, "counts": dict.fromkeys(VERDICTS, 0),
        "defects": 0, "bound": None, "target_met": False, "kappa": None, "sides": None,
        "disagreements": {"count": 0, "pair_ids": [], "left_out": 0}, "labels_sha256": None,
    }
