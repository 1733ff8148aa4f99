"""Result objects as JSON, checked inputs, and what importing the statistics costs."""
from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import pytest

from core.errors import GridError, RoundError
from core.statistics.agreement import Confusion
from core.statistics.inputs import exact_score, level_of
from core.statistics.judge_evidence import RATES, judge_evidence
from core.statistics.ratio import Ratio
from core.statistics.result import Figure, Interval, as_json, no_interval
from core.statistics.threshold_sweep import GateBounds

ROOT = Path(__file__).parents[2]
BOUNDS = GateBounds(Fraction(3, 4), Fraction(1, 20), Fraction(17, 20))


class Colour(StrEnum):
    RED = "red"


def test_figures_become_json() -> None:
    assert as_json(Fraction(3, 4)) == {"exact": "3/4", "value": 0.75}
    assert as_json(Fraction(1, 3**200)) == {"exact": None, "value": 3.0**-200}      # too long to be read
    assert as_json(Ratio(1, 16)) == {"numerator": 1, "denominator": 16, "value": 0.0625, "undefined": None}
    assert as_json((Colour.RED, 2**53, True, None, 0.5)) == ["red", "9007199254740992", True, None, 0.5]
    assert as_json(MappingProxyType({"table": Confusion(1, 2, 3, 4)})) == {"table": {"tp": 1, "fp": 2, "fn": 3, "tn": 4}}
    assert Figure(None, "why").as_dict() == {"value": None, "undefined": "why"} and Figure(None, "why").text == "undefined: why"
    assert Figure(Fraction(2, 3)).text == "0.667"


def test_an_interval_reads_and_writes_what_it_is() -> None:
    interval = Interval(Fraction(3, 19), 1.0, Fraction(95, 100), "bootstrap", None, 7)
    assert interval.as_dict() == {"lower": 3 / 19, "upper": 1.0, "confidence": 0.95, "method": "bootstrap", "undefined": None, "seed": 7}
    assert (interval.text, interval.percent) == ("0.158 to 1", "15.79 % to 100 %")
    nothing = no_interval(Fraction(95, 100), "Wilson score", "no cases")
    assert (nothing.text, nothing.percent, nothing.as_dict()["lower"]) == ("no cases", "no cases", None)


@pytest.mark.parametrize(("written", "value"), [
    ("0.57", Fraction(57, 100)), (0.1, Fraction(1, 10)), (1e-7, Fraction(1, 10**7)), (5e-324, Fraction("5e-324")), (Decimal("2.50"), Fraction(5, 2)),
    (3, Fraction(3)), (Fraction(1, 3), Fraction(1, 3)), ("-0", Fraction(0)), ("1e2", Fraction(100)),
])
def test_scores_are_read_as_written(written: object, value: Fraction) -> None:
    assert exact_score(written) == value  # type: ignore[arg-type]


@pytest.mark.parametrize("written", ["NaN", "inf", "", "1/3", "1e400", "1e-400", "0e999999999", True, None, [], float("-inf"), Decimal("sNaN")])
def test_other_scores_are_refused(written: object) -> None:
    with pytest.raises(RoundError) as refused:
        exact_score(written)  # type: ignore[arg-type]
    assert refused.value.code == "non_finite_score"


def test_levels_are_exact() -> None:
    assert level_of("0.95") == level_of(Decimal("0.95")) == level_of(Fraction(19, 20)) == Fraction(19, 20)
    for bad in ("0", "1", "NaN", "Infinity", "much", Decimal("NaN"), Decimal("Infinity"), Fraction(-1, 2)):
        with pytest.raises(GridError):
            level_of(bad)


def test_evidence_of_the_worked_example_in_one_document() -> None:
    evidence = judge_evidence(Confusion(4, 0, 1, 3), BOUNDS)
    document = json.loads(json.dumps(evidence.as_dict(), allow_nan=False))
    assert set(document["rates"]) == set(RATES) and document["table"] == {"tp": 4, "fp": 0, "fn": 1, "tn": 3}
    assert document["kappa"]["kappa"]["value"] == 0.75 and document["kappa"]["variance"]["exact"] == "105/2048"
    # 16 verdicts, 9 of them "pass": e = 2 * 9 * 7 / 256; (7/8 - e) / (1 - e) = (224 - 126) / (256 - 126)
    assert document["chance"]["ac1"] == {"numerator": 98, "denominator": 130, "value": 49 / 65, "undefined": None}
    assert document["fpr_light"]["text"] == "meets, not proven: needs 56 more failed cases"
    assert document["agreement_light"]["text"] == "meets, not proven: needs 22 more agreeing cases"
    assert document["kappa_light"]["light"] == "meets, not proven"
    assert judge_evidence(Confusion(4, 0, 1, 3)).fpr_light is None
    without_floor = judge_evidence(Confusion(4, 0, 1, 3), GateBounds(Fraction(3, 4), Fraction(1, 20)))
    assert without_floor.agreement_light is None and without_floor.kappa_light is not None


def test_very_large_counts_are_no_reason_to_wait() -> None:
    huge = judge_evidence(Confusion(10**15, 10**12, 3 * 10**12, 10**15), BOUNDS)
    assert huge.fpr_light is not None and huge.fpr_light.text == "proves"
    json.dumps(huge.as_dict(), allow_nan=False)


def test_results_are_frozen() -> None:
    evidence = judge_evidence(Confusion(4, 0, 1, 3))
    with pytest.raises(AttributeError):
        evidence.f1 = None  # type: ignore[misc]
    with pytest.raises(TypeError):
        evidence.rates["recall"] = None  # type: ignore[index]


def test_scipy_and_statsmodels_are_imported_only_where_a_figure_needs_them() -> None:
    code = (
        "import sys\n"
        "import core.cli.main\n"
        "import core.statistics.judge_evidence, core.statistics.judge_bias, core.statistics.drift, core.statistics.multi_rater\n"
        "import core.statistics.prevalence_correction, core.statistics.reliability, core.statistics.missing_answers\n"
        "assert not {'scipy', 'statsmodels'} & set(sys.modules), sorted(m for m in sys.modules if m in ('scipy', 'statsmodels'))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stderr
