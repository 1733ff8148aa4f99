"""RubricJudgeCalibrationGate: may this judge's synthetic pairs be used at all?

Rules (specification 2):

- Positive = the verifier passed; predicted = the rubric approved. kappa, agreement and false-positive approvals are
  exact rationals, compared with the grid's rationals.
- Rows with the two answers swapped serve the position figures and never feed the gate.
- A missing verdict on either side is counted and named, and closes the gate; the other records are still shown.
- Undefined closes the gate. A closed gate holds pairs; it never refuses the round by itself.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from core.gates.checks import Check, rate_check, value_check
from core.grid import Grid
from core.schemas import JUDGE_RECORDS
from core.settings import SETTINGS
from core.statistics.agreement import Confusion, cohen_kappa, exact_agreement, false_discovery_rate, false_positive_rate, prevalence
from core.statistics.ratio import Ratio, fraction_text

NO_JUDGE, UNKNOWN_JUDGE = "no_judge", "unknown_judge"
"""Why a synthetic pair is held that names no judge, or one without a gate."""
PAGE = "judges"


@dataclass(frozen=True, slots=True)
class JudgeCalibration:
    """One judge against the verifier.

    ``confusion`` counts the usable records; ``records`` counts all that feed the gate, usable or not; ``missing`` names
    the cases without a verdict; ``swapped`` counts rows in swapped order, which feed nothing here.
    """

    judge_id: str
    confusion: Confusion
    records: int
    missing: tuple[str, ...]
    swapped: int
    kappa: Ratio
    agreement: Ratio
    fpr: Ratio
    fdr: Ratio
    prevalence: Ratio
    checks: tuple[Check, ...]

    @property
    def open(self) -> bool:
        """True when every check of the gate holds."""
        return all(check.state == "holds" for check in self.checks)

    @property
    def failing(self) -> tuple[str, ...]:
        """Names of the checks that keep the gate closed, in the gate's order."""
        return tuple(check.name for check in self.checks if check.blocks)

    def as_dict(self) -> dict[str, object]:
        """JSON members, as stored in the assessment."""
        table = self.confusion
        return {
            "n": table.n, "n_records": self.records, "missing": list(self.missing), "swapped_records": self.swapped,
            "tp": table.tp, "fp": table.fp, "fn": table.fn, "tn": table.tn,
            "kappa": self.kappa.as_dict(), "agreement": self.agreement.as_dict(), "fpr": self.fpr.as_dict(),
            "fdr": self.fdr.as_dict(), "prevalence": self.prevalence.as_dict(),
            "gate": {"open": self.open, "failing": list(self.failing), "checks": [check.as_dict() for check in self.checks]},
        }


def _count(mask: pa.ChunkedArray) -> int:
    return int(pc.sum(mask).as_py() or 0)


def confusion_of(records: pa.Table) -> Confusion:
    """Counts over rows where both verdicts are given. ``records``: JUDGE_RECORDS rows of one judge."""
    approved, passed = records["rubric_approved"], records["verifier_passed"]
    return Confusion(
        tp=_count(pc.and_kleene(approved, passed)), fp=_count(pc.and_kleene(approved, pc.invert(passed))),
        fn=_count(pc.and_kleene(pc.invert(approved), passed)), tn=_count(pc.and_kleene(pc.invert(approved), pc.invert(passed))),
    )


class RubricJudgeCalibrationGate:
    """Opens or closes the way of a judge's synthetic pairs into curation, under one grid."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    def evaluate(self, judge_id: str, records: pa.Table) -> JudgeCalibration:
        """Calibrate one judge. ``records``: its rows of JUDGE_RECORDS (may be empty). Pure."""
        swapped = _count(records["order_swapped"])
        fed = records.filter(pc.invert(records["order_swapped"]))
        usable = pc.and_(pc.is_valid(fed["rubric_approved"]), pc.is_valid(fed["verifier_passed"]))
        missing = tuple(sorted(fed.filter(pc.invert(usable))["case_id"].to_pylist()))
        # a row with one verdict missing must count nowhere: kleene logic would make "false and null" false, not null
        table = confusion_of(fed.filter(usable))
        kappa, agreement, fpr = cohen_kappa(table), exact_agreement(table), false_positive_rate(table)
        checks = [*self._rate_checks(kappa, agreement, fpr), *self._missing_check(missing, fed.num_rows)]
        return JudgeCalibration(
            judge_id, table, fed.num_rows, missing, swapped, kappa, agreement, fpr, false_discovery_rate(table), prevalence(table), tuple(checks),
        )

    def _rate_checks(self, kappa: Ratio, agreement: Ratio, fpr: Ratio) -> list[Check]:
        return [
            value_check("cohens_kappa", kappa, self.grid, "min_cohens_kappa", page=PAGE,
                        detail="agreement of judge and verifier beyond what their margins alone would give",
                        remedy="Kappa has to be {bound} (now {now})."),
            rate_check("exact_agreement", agreement, self.grid, "min_exact_agreement", page=PAGE, unit="cases",
                       detail="cases where judge and verifier say the same", remedy="At least {limit} of {n} cases agree (now {now})."),
            rate_check("false_positive_rate", fpr, self.grid, "max_false_positive_rate", page=PAGE, unit="approvals of failures",
                       detail="false-positive approvals over verifier failures",
                       remedy="The judge approves at most {limit} of {n} failed answers (now {now})."),
        ]

    @staticmethod
    def _missing_check(missing: tuple[str, ...], records: int) -> list[Check]:
        if not missing:
            return []
        named = SETTINGS["display"]["named_ids"]
        shown = ", ".join(missing[:named]) + (f" and {len(missing) - named} more" if len(missing) > named else "")
        return [Check(
            "missing_verdict", "fails", fraction_text(Ratio(len(missing), records)), "none missing", PAGE,
            f"cases without a usable verdict: {shown}", remedy=f"All {records} cases need both verdicts ({len(missing)} lack one).",
        )]

    def evaluate_all(self, records: pa.Table | None, expected: Iterable[str]) -> dict[str, JudgeCalibration]:
        """Calibrate every judge that has records or is expected (named in the round), in id order."""
        table = JUDGE_RECORDS.empty_table() if records is None else records
        ids = sorted({*pc.unique(table["judge_id"]).to_pylist(), *expected})
        return {judge_id: self.evaluate(judge_id, table.filter(pc.equal(table["judge_id"], judge_id))) for judge_id in ids}


def gates_for_pairs(calibrations: Mapping[str, JudgeCalibration]) -> dict[str, tuple[bool, str | None]]:
    """What curation needs of each judge: (open, first failing check)."""
    return {judge_id: (judge.open, judge.failing[0] if judge.failing else None) for judge_id, judge in calibrations.items()}


def gate_synthetic_pairs(judge_id: str | None, calibrations: Mapping[str, JudgeCalibration]) -> tuple[bool, str | None]:
    """Whether all synthetic pairs of a judge go to curation, or none; and the failing check that holds them.

    A pair with no judge, or with one that this round did not calibrate, is held.
    """
    if judge_id is None:
        return False, NO_JUDGE
    return gates_for_pairs(calibrations).get(judge_id, (False, UNKNOWN_JUDGE))
