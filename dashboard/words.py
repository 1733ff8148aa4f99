"""How the desk names things and writes figures. Closed sets and formatting only: no Streamlit, no decision."""
from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, Literal

from core.settings import SETTINGS
from core.statistics.ratio import MINUS, Ratio, decimal_text, fraction_text, percent_text

Tone = Literal["ok", "bad", "off"]
"""ok: holds, admitted. bad: fails, rejected. off: undefined, held, open. Never the only sign: a word or an icon goes with it."""

CHECK_TITLES: Final[Mapping[str, str]] = {
    "holdout_lock": "Holdout lock", "sanity_retention": "Sanity retention", "regressions": "Regressions",
    "no_collapsed_pair": "No collapsed pair admitted", "outcomes_complete": "Outcomes complete", "literal_gate": "No hard-coded threshold",
    "collapsed_share": "Collapsed share", "net_gain": "Net holdout gain", "distinct_reviewer": "Distinct reviewer",
    "cohens_kappa": "Cohen's kappa", "exact_agreement": "Exact agreement", "false_positive_rate": "False-positive approvals",
    "missing_verdict": "Missing verdicts", "no_judge": "No judge named", "unknown_judge": "Judge not calibrated here",
}
REASON_TITLES: Final[Mapping[str, str]] = {
    "invalid_record": "Invalid record", "unverified": "Unverified", "non_positive_margin": "Margin not positive", "length_bias": "Length bias",
    "logp_collapse": "Chosen log-prob collapsed", "duplicate": "Duplicate",
}
SHORT_TITLES: Final[Mapping[str, str]] = {
    "cohens_kappa": "kappa", "exact_agreement": "agreement", "false_positive_rate": "false positives", "missing_verdict": "missing verdicts",
}
"""Checks of a judge's gate, where a table has little room."""
CHECK_STATES: Final[Mapping[str, tuple[str, Tone, str]]] = {
    "holds": ("holds", "ok", "check"), "fails": ("fails", "bad", "cross"), "undefined": ("undefined", "off", "question"),
    "warning": ("warning", "off", "warning"), "noted": ("noted", "off", "note"), "open": ("open", "off", "open"),
}
"""State of a check -> (word, tone, icon)."""
STATE_ORDER: Final = ("fails", "undefined", "warning", "open", "holds", "noted")
"""Failing checks first."""
PAGE_STATES: Final[Mapping[str, tuple[str, Tone]]] = {
    "empty": ("note", "off"), "not_proposed": ("pen", "off"), "incomplete": ("question", "off"), "awaiting_you": ("pen", "ok"),
    "awaiting_others": ("clock", "off"), "expired": ("clock", "bad"), "refused": ("refuse", "bad"), "held": ("pause", "off"),
    "undefined": ("question", "off"), "stale": ("stale", "bad"), "not_comparable": ("question", "off"), "no_permission": ("lock", "bad"),
    "very_large": ("clock", "off"), "broken": ("broken", "bad"), "done": ("check", "ok"), "note": ("note", "off"), "warning": ("warning", "off"),
}
"""State of a page -> (icon, tone)."""
CELL_TITLES: Final[Mapping[str, str]] = {
    "tp": "approved, verifier passed", "fp": "approved, verifier failed", "fn": "not approved, verifier passed",
    "tn": "not approved, verifier failed", "missing": "no usable verdict",
}
"""Cells of a judge's table, in words."""
CELL_MEANINGS: Final[Mapping[str, str]] = {
    "tp": "they agree", "tn": "they agree", "fp": "they disagree", "fn": "they disagree", "missing": "closes the gate",
}
PART_TITLES: Final[Mapping[str, str]] = {
    "judge_records": "judge records", "pairs": "pairs", "holdout": "holdout", "outcomes": "outcomes", "sanity": "canaries", "ratings": "ratings",
    "behaviours": "behaviours", "rollouts": "rollouts",
}


def count(number: int) -> str:
    """A count with thousands separators and a true minus sign."""
    return f"{number:,}".replace("-", MINUS)


def plural(number: int, noun: str, many: str | None = None) -> str:
    """``1 pair``, ``12 pairs``."""
    return f"{count(number)} {noun if number == 1 else many or noun + 's'}"


def signed(number: int) -> str:
    """A change: ``+12``, ``−3``, ``0``."""
    return f"+{count(number)}" if number > 0 else count(number)


def decimal(value: float | None, decimals: int | None = None) -> str:
    """A measured double for display, from its shortest decimal; ``not defined`` for None."""
    return "not defined" if value is None else decimal_text(Fraction(repr(value)), decimals)


def share(part: int, whole: int) -> str:
    """``6.88 %``, or ``no cases``."""
    return percent_text(Fraction(part, whole)) if whole else "no cases"


def ratio_of(document: Mapping[str, Any]) -> Ratio:
    """The exact ratio that the assessment stores."""
    return Ratio(int(document["numerator"]), int(document["denominator"]), document["undefined"])


def fraction(document: Mapping[str, Any]) -> str:
    """``13 of 120, 10.83 %``, or ``undefined: ...`` in words."""
    return fraction_text(ratio_of(document))


def exact(document: Mapping[str, Any], decimals: int | None = None) -> str:
    """A ratio as a decimal (kappa), or ``undefined: ...`` in words."""
    ratio = ratio_of(document)
    return f"undefined: {ratio.undefined}" if ratio.value is None else decimal_text(ratio.value, decimals)


def check_title(name: str) -> str:
    """The title of a check, a reason or a held check."""
    return CHECK_TITLES.get(name, REASON_TITLES.get(name, name.replace("_", " ")))


def in_sentence(name: str) -> str:
    """The title of a check inside a sentence: a lower-case first letter, names kept."""
    title = check_title(name)
    return title if title.startswith("Cohen") else title[:1].lower() + title[1:]


def short_time(stamp: str | None) -> str:
    """The date and minute of an RFC 3339 time, UTC; ``not stated`` for None."""
    if not stamp:
        return "not stated"
    date, _, clock = stamp.partition("T")
    minute = clock.rpartition(":")[0]
    return f"{date} {minute} UTC" if minute else date


def registered(stamp: str | None, person: str | None) -> str:
    """When and by whom something was registered, or that nobody says so."""
    if not stamp and not person:
        return "when and by whom: not stated"
    return f"{short_time(stamp) if stamp else 'time not stated'} by {person or 'somebody not named'}"


def day(stamp: str | None) -> str:
    """The date of an RFC 3339 time; ``no date`` for None."""
    return stamp.partition("T")[0] if stamp else "no date"


def short_digest(value: str) -> str:
    """The first characters of a digest."""
    return value[: SETTINGS["display"]["digest_characters"]]
