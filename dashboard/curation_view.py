"""What the Curation page says, from counts and means: headline, the trap, the legend, the table of means. Pure."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from core.rounds.queries import StateCounts, Trap
from core.rounds.query_bins import BinPlan, BinRange
from core.settings import SETTINGS
from dashboard import blocks, words
from dashboard.blocks import Block, Span, muted, strong, text
from dashboard.chart_words import bound_text, fixed, range_text, ratio_text
from dashboard.pair_params import range_params, without

_DECIMALS: Final[int] = SETTINGS["dashboard"]["trap_decimals"]
_WIDTHS: Final = SETTINGS["charts"]["widths"]
_MEANS: Final = (
    ("DPO margin", "nats", "mean_margin", "margin"), ("Chosen drift", "nats per token", "mean_drift", "drift"),
    ("Length ratio", "chosen : rejected", "mean_ratio_log2", "ratio"), ("RPO loss", "nats", "mean_loss", "loss"),
    ("Chosen answer", "tokens", "mean_chosen_tokens", None), ("Rejected answer", "tokens", "mean_rejected_tokens", None),
)
"""Title, unit, column of ``group_means.sql``, measure."""


def headline_words(counts: StateCounts) -> str:
    """How many of the rows that came in would train the next generation."""
    if counts.total == counts.admitted:
        who = "The only pair" if counts.total == 1 else f"All {words.plural(counts.total, 'pair')}"
        return f"{who} would train the next generation"
    return f"{words.count(counts.admitted)} of {words.plural(counts.total, 'pair')} would train the next generation"


def trap_spans(trap: Trap, bound: float) -> list[Span]:
    """The trap, where the figures show it: pairs that look good by margin while their chosen answer became less likely.

    Shown when pairs were rejected for the collapse alone or first, their mean margin lies above the margin's bound, and
    each of their chosen answers did become less likely (a grid may ask for more than that).
    """
    if not trap.pairs or trap.mean_margin is None or trap.mean_drift is None or trap.mean_margin <= bound or trap.chosen_fell < trap.pairs:
        return []
    one = trap.pairs == 1
    spans = [
        strong(words.plural(trap.pairs, "pair")), text(" looks good by margin (" if one else " look good by margin (mean "),
        strong(words.decimal(trap.mean_margin, _DECIMALS)), text("), but " + ("its" if one else "their") + " chosen answer became "), strong("less"),
        text(" likely than under the reference (" if one else " likely than under the reference (mean drift "),
        strong(words.decimal(trap.mean_drift, _DECIMALS)), text(" nats per token)"),
    ]
    if trap.both_fell == trap.pairs:
        spans.append(text(": the policy moved away from both answers" + (". " if one else " in each of them. ")))
    else:
        spans.append(text(f". In {words.count(trap.both_fell)} of them the policy moved away from both answers. "))
    return [*spans, blocks.link("See it" if one else "See them", "rejected", state="rejected", reason="logp_collapse")]


def legend(counts: Mapping[str, int], invalid: int) -> list[list[Span]]:
    """The states as the charts draw them, with how many pairs have figures; invalid records have none."""
    groups = [
        [text("■", "ok"), text(" admitted "), strong(words.count(counts.get("admitted", 0)))],
        [text("▨", "bad"), text(" rejected "), strong(words.count(counts.get("rejected", 0)))],
    ]
    if counts.get("held"):
        groups.append([text("━", "off"), text(" held "), strong(words.count(counts["held"])), muted(" (line, not stacked)")])
    if invalid:
        groups.append([muted(f"{words.plural(invalid, 'invalid record')} {'has' if invalid == 1 else 'have'} no figures")])
    return groups


def chips(ranges: Sequence[BinRange], judge: str | None, plans: Mapping[str, BinPlan]) -> list[list[Span]]:
    """What narrows the charts, each with a way to take it off."""
    kept = tuple(ranges)
    groups = [
        [blocks.link(
            range_text(plans[item.measure], item), "curation", icon_name="cross", title="Take this range off", **_judge(judge),
            **range_params(without(kept, item.measure), plans),
        )]
        for item in ranges
    ]
    if judge is not None:
        groups.append([blocks.link(f"pairs of judge {judge}", "curation", icon_name="cross", title="Show the pairs of all judges",
                                   **range_params(kept, plans))])
    if len(groups) > 1:
        groups.append([blocks.link("clear all", "curation")])
    return groups


def _judge(judge: str | None) -> dict[str, str]:
    return {} if judge is None else {"judge": judge}


def see_pairs(chosen: Mapping[str, int], ranges: Sequence[BinRange], judge: str | None, plans: Mapping[str, BinPlan]) -> list[Span]:
    """Ways to the pairs that are in every chosen range, by state."""
    total = sum(chosen.values())
    spans: list[Span] = [text(f"{words.plural(total, 'pair')} in this view"), text(": " if total else ".")]
    params = range_params(tuple(ranges), plans) | _judge(judge)
    for position, state in enumerate(state for state in ("admitted", "rejected", "held") if chosen.get(state)):
        spans += [text(", ")] if position else []
        spans.append(blocks.link(f"see {words.count(chosen[state])} {state}", "rejected", state=state, **params))
    return spans


def means_table(means: Sequence[Mapping[str, Any]], nearest: Mapping[str, float | None], plans: Mapping[str, BinPlan]) -> Block:
    """Admitted against rejected and held, on average, beside each bound and the figures nearest to it on either side."""
    by_state = {row["state"]: row for row in means}
    states = [state for state in ("admitted", "rejected", "held") if state in by_state]
    columns = [
        blocks.column("Mean of", head=True, width=_WIDTHS["means_title"]),
        *(_state_column(state, by_state[state]["pairs"]) for state in states),
        blocks.column("Bound, nearest to it", width=_WIDTHS["means_bound"]),
    ]
    rows = [
        blocks.row(
            blocks.cell(text(f"{title} "), muted(unit, blocks.SMALL)),
            *(blocks.cell(_mean(measure, by_state[state][name]), tone="nowrap") for state in states),
            blocks.cell(*_bound_spans(measure, nearest, plans)),
        )
        for title, unit, name, measure in _MEANS
    ]
    return blocks.table("means", columns, rows, label="Means by state, with bounds")


def _state_column(state: str, pairs: int) -> dict[str, Any]:
    return blocks.column(state.capitalize(), align="right", under=[muted(f"n = {words.count(pairs)}", blocks.SMALL)])


def _mean(measure: str | None, value: float | None) -> str:
    return ratio_text(value) if measure == "ratio" and value is not None else fixed(value, _DECIMALS)


def _bound_spans(measure: str | None, nearest: Mapping[str, float | None], plans: Mapping[str, BinPlan]) -> list[Span]:
    if measure is None or measure not in plans:
        return []
    if plans[measure].bound is None:
        return [muted("no bound, ranks only")]
    inside, outside = (nearest[f"{measure}_{side}"] for side in ("inside", "outside"))
    said = [f"{'none' if inside is None else words.decimal(inside)} in", f"{'none' if outside is None else words.decimal(outside)} out"]
    return [text(bound_text(plans[measure])), {"k": "break"}, muted(", ".join(said), blocks.SMALL)]
