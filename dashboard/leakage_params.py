"""Leaks and style in the URL: which section of the page reads which query parameters. Pure.

A link of one section keeps what the others show, so each has to know the others' names.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FINDINGS, ROLLOUTS, CLUSTERS, STYLE = "findings", "rollouts", "clusters", "style"
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    FINDINGS: ("state", "rule", "place", "pair", "at", "findings_page"), CLUSTERS: ("field", "cluster", "clusters_page", "beside"),
    STYLE: ("of",), ROLLOUTS: ("made", "made_page"),
}
"""Section -> its query parameters."""
NAMES: Final = tuple(name for names in KEYS.values() for name in names)


def of_others(section: str, params: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The parts of a view that belong to the other sections."""
    return tuple((name, params[name]) for name in NAMES if name not in KEYS[section] and params.get(name))
