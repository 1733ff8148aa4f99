"""Clusters of answers that share a template (``t1``): shown to a reviewer, never a reason to reject.

Many answers of one template can mean that the generator fell into a pattern, or that the task asks for one ("The answer is
42."). Only a person can tell, so the report counts and names, and decides nothing.
"""
from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from core.pairs.normal_forms import t1
from core.settings import SETTINGS
from core.text import shortened


@dataclass(frozen=True, slots=True)
class TemplateCluster:
    """Pairs whose chosen answers have one template; ``template`` is cut for display, ids are in byte order."""

    template: str
    pair_ids: tuple[str, ...]


def template_clusters(answers: Iterable[tuple[str, str]]) -> list[TemplateCluster]:
    """Clusters of two or more pairs, largest first, then by template.

    ``answers``: (pair_id, chosen answer), in any order.
    """
    # digests are compared and only the head of a template is kept: a million answers must not stay in memory
    members: dict[bytes, tuple[str, list[str]]] = {}
    for pair_id, answer in answers:
        template = t1(answer)
        digest = hashlib.sha256(template.encode()).digest()
        members.setdefault(digest, (shortened(template, SETTINGS["text"]["label_characters"]), []))[1].append(pair_id)
    clusters = [TemplateCluster(template, tuple(sorted(ids))) for template, ids in members.values() if len(ids) > 1]
    return sorted(clusters, key=lambda cluster: (-len(cluster.pair_ids), cluster.template))
