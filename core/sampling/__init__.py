"""Review sampling: a random, seeded sample of admitted pairs that a reviewer judges blind, and what it proves.

``hypergeometric`` and ``sequential`` hold the exact mathematics, ``plan`` the sizes and the stopping rule, ``draw`` the
random order, ``journal`` the file of labels, ``review`` what a person can do, ``sheet`` judging outside the dashboard,
``result`` and ``coverage`` what came out.
"""
from core.sampling.coverage import COVERAGE_VERSION, result_of, sampling_coverage
from core.sampling.draw import Population, shown_first
from core.sampling.journal import CHOICES, Choice, Label
from core.sampling.plan import METHODS, Method, SamplePlan, plan_sample, why_no_plan
from core.sampling.result import VERDICTS, SampleResult
from core.sampling.review import Given, Review, Sample, Taken
from core.sampling.sheet import blind_sheet, read_labels

__all__ = [
    "CHOICES", "COVERAGE_VERSION", "METHODS", "VERDICTS", "Choice", "Given", "Label", "Method", "Population", "Review", "Sample", "SamplePlan",
    "SampleResult", "Taken", "blind_sheet", "plan_sample", "read_labels", "result_of", "sampling_coverage", "shown_first", "why_no_plan",
]
