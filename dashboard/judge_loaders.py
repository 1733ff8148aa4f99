"""The evidence about judges, cached by digests: of the round, the grid and the code. Frozen objects, shared and never copied."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import streamlit as st

from core.gates import judge_biases, judge_evidence, judge_peers
from core.gates.judge_cases import JudgeCases, Verdicts, cases_of, content_verdicts, judge_figures, slices_of
from core.gates.judge_evidence import GradedEvidence, PassRate
from core.gates.judge_parts import EvidenceRules, Part
from core.gates.judge_peers import JudgeHistory, JudgesTogether
from core.gates.judge_raters import RatersEvidence, raters_agreement
from core.literals import code_digest
from core.rounds.folder import Round
from core.settings import SETTINGS
from core.statistics.judge_evidence import JudgeEvidence
from dashboard.frame import View

_LIMITS: Final = SETTINGS["dashboard"]


@st.cache_resource(max_entries=_LIMITS["open_databases"], show_spinner=False)
def _records(digest: str, _source: Round) -> pa.Table:
    return judge_figures(_source)


@st.cache_resource(max_entries=_LIMITS["open_databases"], show_spinner=False)
def _verdicts(digest: str, _source: Round) -> dict[str, Verdicts]:
    return content_verdicts(_source)


@st.cache_resource(max_entries=_LIMITS["cached_documents"], show_spinner=False)
def _computed(what: str, judge_id: str, part: str | None, digests: tuple[str, ...], _compute: Callable[[], Any]) -> Any:
    return _compute()


def _cached(view: View, what: str, cases: JudgeCases, compute: Callable[[], Any]) -> Any:
    return _computed(what, cases.judge_id, cases.name, (view.round.digest, view.grid.digest, code_digest()), compute)


def rules(view: View) -> EvidenceRules:
    """The grid's bounds, confidence and level."""
    return EvidenceRules.of(view.grid)


def cases(view: View, judge_id: str) -> JudgeCases:
    """All cases of a judge."""
    return cases_of(_records(view.round.digest, view.round), judge_id)


def slices(view: View, judge_id: str) -> tuple[JudgeCases, ...]:
    """Its cases by slice; none where no case names one."""
    return slices_of(cases(view, judge_id))


def figures(view: View, some: JudgeCases) -> JudgeEvidence:
    """Kappa and rates with intervals, and what the cases prove."""
    found: JudgeEvidence = _cached(view, "figures", some, lambda: judge_evidence.strength(view.round, some, rules(view)))
    return found


def graded(view: View, some: JudgeCases) -> Part[GradedEvidence]:
    """Thresholds and reliability of the scores."""
    found: Part[GradedEvidence] = _cached(view, "graded", some, lambda: judge_evidence.graded(some, rules(view)))
    return found


def biases(
    view: View, some: JudgeCases,
) -> tuple[Part[judge_biases.PositionEvidence], Part[judge_biases.LengthEvidence], Part[judge_biases.SelfEvidence]]:
    """Position, length and self-preference bias."""
    found: Any = _cached(view, "biases", some, lambda: (
        judge_biases.position(some), judge_biases.length(some, rules(view)), judge_biases.own_outputs(some, rules(view)),
    ))
    return found[0], found[1], found[-1]


def pass_rate(view: View, some: JudgeCases, whole: JudgeCases | None = None) -> Part[PassRate]:
    """The pass rate corrected for the judge's errors, of all cases or of one slice of ``whole``."""
    return judge_evidence.pass_rate(some, rules(view), whole)


def together(view: View, judge_id: str) -> Part[JudgesTogether]:
    """The judges of this round on the same cases."""
    some = cases(view, judge_id)
    found: Part[JudgesTogether] = _cached(
        view, "together", some, lambda: judge_peers.judges_together(_verdicts(view.round.digest, view.round), judge_id, rules(view)),
    )
    return found


def raters(view: View, some: JudgeCases) -> Part[RatersEvidence]:
    """The people who labelled these cases, against each other."""
    found: Part[RatersEvidence] = _cached(view, "raters", some, lambda: raters_agreement(view.round, some))
    return found


def history(view: View, judge_id: str) -> JudgeHistory:
    """The judge in earlier rounds of the workspace."""
    manifests, unread = judge_peers.earlier_rounds(view.workspace, view.round)
    earlier = tuple(manifest.digest for manifest in manifests)
    found: JudgeHistory = _computed(
        f"history {unread}", judge_id, None, (view.round.digest, view.grid.digest, code_digest(), *earlier),
        lambda: judge_peers.judge_history(view.workspace, view.round, judge_id, rules(view)),
    )
    return found
