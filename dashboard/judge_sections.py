"""The evidence below a judge's card: one section is open at a time, named in the URL, and only that one is computed."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import streamlit as st

from core.gates import judge_words
from core.gates.judge_cases import JudgeCases
from core.settings import SETTINGS
from core.text import sentence
from dashboard import blocks, charts, components, judge_charts, judge_loaders, judge_view, navigation, theme_watch
from dashboard.frame import View

SECTIONS: Final = ("strength", "slices", "thresholds", "bias", "pass rate", "other raters", "earlier rounds")
"""Values of ``?evidence=``; the choice on the page writes them out once more, since its labels have to be literals."""
_BY_SLICE: Final = ("strength", "thresholds", "bias")
_ALL_CASES: Final = ""


def draw(view: View, judge_id: str, key: str, *, named: bool) -> None:
    """The choice of a section, and the open one. ``key``: of this judge's widgets; ``named``: the URL names this judge."""
    opened = navigation.view("evidence") if named else None
    opened = opened if opened in SECTIONS else None
    choice = f"evidence-{key}"
    st.session_state[choice] = opened
    st.segmented_control(
        "Evidence", ["strength", "slices", "thresholds", "bias", "pass rate", "other raters", "earlier rounds"], key=choice,
        on_change=_open, args=(judge_id, choice),
    )
    if opened is None:
        return
    whole = judge_loaders.cases(view, judge_id)
    some = _slice_choice(view, judge_id, whole, key) if opened in _BY_SLICE else whole
    with st.skeleton():
        _DRAWN[opened](view, some, key)


def _open(judge_id: str, choice: str) -> None:
    section = st.session_state[choice]
    kept = navigation.view("slice") if section in _BY_SLICE and navigation.view("judge") == judge_id else None
    if navigation.view("judge") != judge_id:
        navigation.set_view(cell=None, case=None, cases_page=None)
    navigation.set_view(judge=judge_id, evidence=section, slice=kept)


def _slice_choice(view: View, judge_id: str, whole: JudgeCases, key: str) -> JudgeCases:
    """All cases or one slice of them, as the URL says; a slice that does not exist is all cases."""
    parts = {part.name: part for part in judge_loaders.slices(view, judge_id) if part.name is not None}
    if not parts:
        return whole
    chosen = navigation.view("slice")
    widget = f"slice-{key}"
    st.session_state[widget] = chosen if chosen in parts else _ALL_CASES
    st.selectbox(
        "Cases", [_ALL_CASES, *parts], key=widget, on_change=_choose_slice, args=(widget,), width=SETTINGS["judges"]["slice_width"],
        format_func=lambda name: components.selectable(
            f"slice {name}, {parts[name].given.num_rows:,} cases" if name in parts else f"all cases, {whole.given.num_rows:,}",
        ),
    )
    return parts.get(str(st.session_state[widget]), whole)


def _choose_slice(widget: str) -> None:
    navigation.set_view(slice=st.session_state[widget] or None)


def _strength(view: View, some: JudgeCases, key: str) -> None:
    evidence = judge_loaders.figures(view, some)
    components.sheet(
        f"strength-{key}", blocks.heading("What these cases prove", level="h3"), judge_view.strength_table(f"strength-{key}", evidence),
        *judge_view.condition(evidence),
    )
    components.sheet(
        f"beside-{key}", blocks.heading("Beside kappa", level="h3"), judge_view.paradox(evidence), judge_view.beside_kappa(evidence),
    )
    components.sheet(f"rates-{key}", blocks.heading("Every rate", level="h3"), judge_view.rates_table(f"rates-{key}", evidence))


def _slices(view: View, some: JudgeCases, key: str) -> None:
    parts = judge_loaders.slices(view, some.judge_id)
    if not parts:
        _nothing(f"slices-{key}", judge_words.NO_SLICES)
        return
    rows = [(part, judge_loaders.figures(view, part)) for part in parts]
    components.sheet(
        f"slices-{key}", judge_view.slices_table(f"slices-{key}", some.judge_id, rows),
        blocks.paragraph(blocks.muted(judge_words.SLICES_NOTE, blocks.SMALL)),
    )


def _thresholds(view: View, some: JudgeCases, key: str) -> None:
    part, bounds = judge_loaders.graded(view, some), judge_loaders.rules(view).bounds
    if part.value is None:
        _nothing(f"thresholds-{key}", str(part.reason))
        return
    found, colours = part.value, theme_watch.colours()
    components.sheet(f"thresholds-{key}", *judge_view.sentences(judge_words.graded_sentences(found)))
    drawn = [
        ("threshold", judge_charts.by_threshold(found, bounds, colours), judge_charts.by_threshold_sentence(found)),
        ("roc", judge_charts.roc(found, bounds, colours), judge_charts.roc_sentence(found, bounds)),
        ("pr", judge_charts.precision_recall(found, colours), judge_charts.precision_recall_sentence(found)),
    ]
    probabilities = found.reliability
    if probabilities.value is not None:
        figure = judge_charts.reliability_diagram(probabilities.value, colours)
        drawn.append(("reliability", figure, judge_words.reliability_sentence(probabilities.value)))
    side_by_side = st.grid(SETTINGS["charts"]["columns"], min_column_width=SETTINGS["charts"]["column_width"], gap="small", border=True)
    for name, figure, caption in drawn:
        with side_by_side.cell():
            st.plotly_chart(figure, key=f"{name}-{key}", theme=None, config=charts.CONFIG)
            components.sheet(f"said-{name}-{key}", blocks.paragraph(blocks.muted(caption, blocks.SMALL)))
    if probabilities.value is None:
        components.sheet(f"reliability-{key}", *judge_view.sentences([f"Reliability {probabilities.reason}."]))


def _bias(view: View, some: JudgeCases, key: str) -> None:
    position, length, own = judge_loaders.biases(view, some)
    alpha = judge_loaders.rules(view).alpha
    for name, title, said in (
        ("position", "Position", judge_words.said(position, lambda found: judge_words.position_sentences(found, alpha))),
        ("length", "Length", judge_words.said(length, lambda found: [judge_words.length_sentence(found)])),
        ("own", "Its own outputs", judge_words.said(own, judge_words.self_sentences)),
    ):
        components.sheet(f"{name}-{key}", blocks.heading(title, level="h3"), *judge_view.sentences(said))


def _pass_rate(view: View, some: JudgeCases, key: str) -> None:
    said = judge_words.said(judge_loaders.pass_rate(view, some), lambda found: [judge_words.pass_rate_sentence(found)])
    parts = judge_loaders.slices(view, some.judge_id)
    rows = [(part, judge_loaders.pass_rate(view, part, some)) for part in parts]
    table = [judge_view.pass_rate_table(f"pass-rate-{key}", rows)] if rows else []
    components.sheet(
        f"pass-rate-{key}", *judge_view.sentences([*said, judge_words.CORRECTED_NOTE]), *table,
        *judge_view.sentences(judge_view.undefined_pass_rates(rows)),
    )


def _peers(view: View, some: JudgeCases, key: str) -> None:
    part = judge_loaders.together(view, some.judge_id)
    table = [] if part.value is None else [judge_view.peers_table(f"peers-{key}", part.value)]
    components.sheet(
        f"peers-{key}", blocks.heading("Judges on the same cases", level="h3"),
        *judge_view.sentences(judge_words.said(part, judge_words.together_sentences)), *table,
    )
    said = judge_words.said(judge_loaders.raters(view, some), judge_words.rater_sentences)
    components.sheet(f"raters-{key}", blocks.heading("Raters of these cases", level="h3"), *judge_view.sentences(said))


def _history(view: View, some: JudgeCases, key: str) -> None:
    history = judge_loaders.history(view, some.judge_id)
    table = [judge_view.history_table(f"history-{key}", history, judge_loaders.rules(view).alpha)] if history.rounds else []
    components.sheet(f"history-{key}", *table, *judge_view.sentences(judge_words.history_end(history)))


def _nothing(key: str, reason: str) -> None:
    components.sheet(key, blocks.paragraph(sentence(reason)))


_DRAWN: Final[Mapping[str, Callable[[View, JudgeCases, str], None]]] = {
    "strength": _strength, "slices": _slices, "thresholds": _thresholds, "bias": _bias, "pass rate": _pass_rate, "other raters": _peers,
    "earlier rounds": _history,
}
