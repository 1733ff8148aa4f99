"""The moving parts of the Sample page: which screen is due, and the screens."""
from __future__ import annotations

from typing import Final

import streamlit as st

from core.errors import CountersignError
from core.gates.assessment import Assessment
from core.rounds.queries import PAGE_ROWS
from core.sampling import Choice, Label, Population, Review, Sample, plan_sample, result_of, shown_first, why_no_plan
from core.sampling.plan import NO_KEYS, NO_PAIRS
from core.settings import SETTINGS
from dashboard import blocks, components, pair_browser, pair_loaders, sample_actions, sample_view, words
from dashboard.frame import View

_SETTINGS: Final = SETTINGS["sampling"]
_ANSWERS: Final[dict[str, str]] = {"chosen": "rejected", "rejected": "chosen"}


@st.cache_resource(max_entries=SETTINGS["dashboard"]["open_databases"], show_spinner=False)
def _population(digest: str, folder: str, _computed: Assessment) -> Population:
    return Population.of(_computed)


def population_of(view: View) -> Population:
    """The admitted pairs of what the page shows."""
    return _population(view.round.digest, view.computed.folder.name, view.computed)


def draw(view: View, *, bare: bool) -> None:
    """The screen that is due. ``bare``: the page was opened without its frame, to judge."""
    population = population_of(view)
    reason = why_no_plan(view.grid, population.size)
    if reason is not None:
        _nothing(view, reason)
        return
    if view.person is None:
        _intro(view, population, None)
        return
    review = Review(view.workspace, population, view.grid.digest, view.person)
    try:
        sample = review.sample()
    except CountersignError as error:
        components.headline("sample", "Your labels of this round cannot be read")
        components.error_notice("sample", error)
        return
    _screen(view, population, review, sample, bare=bare)


def _screen(view: View, population: Population, review: Review, sample: Sample | None, *, bare: bool) -> None:
    pair_id = sample.next_pair if sample is not None and sample_actions.is_judging(view.round.digest) else None
    if bare != (pair_id is not None):
        # the address did not name the round yet, or another window has finished or ended the sample: the frame goes, or comes back
        if pair_id is None:
            sample_actions.leave()
        st.rerun()
    error = sample_actions.take_error()
    if error is not None:
        components.error_notice("sample", error)
    if sample is not None and pair_id is not None:
        _pair(view, review, sample, pair_id)
    elif sample is None:
        _intro(view, population, review)
    elif sample.ended:
        _result(view, sample)
    elif sample.is_complete:
        _complete(view, review, sample)
    else:
        _underway(view, review, sample)


def _nothing(view: View, reason: str) -> None:
    if not view.round.has("pairs"):
        components.headline("sample", "This round has no pairs")
        components.state_notice(
            "sample", "incomplete", "The proposer supplied no candidate pairs, so none was admitted.", "Ask the proposer for the pairs.",
        )
    elif reason == NO_PAIRS:
        components.headline("sample", "No pair was admitted")
        components.state_notice(
            "sample", "empty", "A sample is drawn from the admitted pairs, and there is none.",
            ["See ", blocks.link("why the pairs were rejected", "rejected"), "."],
        )
    else:
        components.headline("sample", "This grid says nothing about samples" if reason == NO_KEYS else "This grid asks for no sample")
        components.state_notice(
            "sample", "undefined", f"No size can be given: {reason}.",
            "A round proposed under a grid that sets sample_max_defect_rate and sample_confidence has a sample.",
        )


def _intro(view: View, population: Population, review: Review | None) -> None:
    """Before a sample is drawn. ``review`` is None where nobody is identified."""
    fixed = plan_sample(view.grid, population.size)
    pairs = words.plural(population.size, "admitted pair")
    components.headline("sample", f"Judge a sample of the {pairs} yourself, blind", lead=sample_view.intro_lead(fixed))
    if review is None:
        components.state_notice(
            "sample", "no_permission", "A sample belongs to a person, and nobody is identified here.", "Choose who you are in the side bar.",
        )
    components.section("how", "How it goes", *sample_view.how_blocks())
    titles = list(sample_actions.METHODS)
    chosen = st.segmented_control("Plan", ["One size", "Step by step"], key=sample_actions.METHOD, default=titles[0], required=True)
    plan = plan_sample(view.grid, population.size, sample_actions.METHODS[chosen or titles[0]])
    components.sheet("plan", blocks.paragraph(blocks.muted(sample_view.plan_words(plan))))
    st.button(
        "Draw the sample and begin", key="sample_begin", type="primary", icon=":material/play_arrow:", disabled=review is None,
        on_click=sample_actions.begin, args=(review, view.grid, view.round.digest),
    )
    if review is None:
        components.sheet("why-not", blocks.paragraph(blocks.muted("Not yet: nobody is identified.", blocks.SMALL)))


def _underway(view: View, review: Review, sample: Sample) -> None:
    """A sample that was begun and left."""
    components.headline(
        "sample", sample_view.progress_words(sample), lead=["Everything so far is stored. The result is shown at the end."],
    )
    st.button(
        "Go on judging", key="sample_begin", type="primary", icon=":material/play_arrow:", on_click=sample_actions.begin,
        args=(review, view.grid, view.round.digest),
    )
    components.section("how", "How it goes", *sample_view.how_blocks())
    with st.expander("End it here", icon=":material/stop:"):
        missing = sample.plan.largest - len(sample.labels)
        components.sheet("early", blocks.paragraph(
            f"{words.plural(missing, 'pair')} of the plan would count as defects, and nothing can be judged or taken back afterwards.",
        ))
        st.button("End it and show the result", key="sample_end", on_click=sample_actions.end, args=(review, view.round.digest))


def _complete(view: View, review: Review, sample: Sample) -> None:
    """Everything is judged; the last judgement can still be taken back."""
    components.headline(
        "sample", f"The sample is complete: {words.plural(len(sample.labels), 'pair')} judged",
        lead=["Nothing can be changed once the result was shown."],
    )
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Show the result", key="sample_end", type="primary", icon=":material/visibility:", on_click=sample_actions.end,
            args=(review, view.round.digest),
        )
        _take_back(view, review, sample, shown="")


def _take_back(view: View, review: Review, sample: Sample, shown: str) -> None:
    last = sample.labels[-1].pair_id if sample.labels else ""
    st.button(
        "Take back the last", key="sample_take_back", type="tertiary", icon=":material/undo:", shortcut="u", disabled=not sample.can_take_back,
        on_click=sample_actions.take_back, args=(review, view.round.digest, last, shown),
    )


def _pair(view: View, review: Review, sample: Sample, pair_id: str) -> None:
    """One pair, its answers in random order, and nothing else: no id, no figure, no word of the engine."""
    sample_actions.mark_shown(pair_id)
    components.headline("sample", "Which answer is better?", blocks.muted(f"   {sample_view.place_words(sample)}", blocks.SMALL))
    with st.container(key="judge_bar", horizontal=True, gap="small", vertical_alignment="center"):
        _choices(view, review, pair_id)
        _take_back(view, review, sample, shown=pair_id)
        st.button("Pause", key="sample_pause", type="tertiary", icon=":material/pause:", on_click=sample_actions.leave)
    rows = pair_loaders.pair(view, pair_id)
    texts = pair_loaders.texts(view, rows[0]["ordinal"]) if rows else None
    if texts is None:
        components.state_notice("sample", "broken", "The texts of this pair are not in the round folder.", "Run countersign round check.")
        return
    components.sheet("sample-prompt", blocks.heading("Prompt", level="h3"), blocks.model_text(texts["prompt"] or ""))
    first = shown_first(sample.population, sample.start.seed, pair_id)
    sides = st.grid(SETTINGS["charts"]["columns"], min_column_width=_SETTINGS["text_column_width"], gap="small")
    with sides.cell():
        components.sheet("sample-first", blocks.heading("First", level="h3"), blocks.model_text(texts[first] or ""))
    with sides.cell():
        components.sheet("sample-second", blocks.heading("Second", level="h3"), blocks.model_text(texts[_ANSWERS[first]] or ""))


def _choices(view: View, review: Review, pair_id: str) -> None:
    def args(choice: Choice) -> tuple[Review, str, str, Choice]:
        return review, view.round.digest, pair_id, choice

    act = sample_actions.judge
    st.button("First", key="judge_first", shortcut="1", on_click=act, args=args("first"), type="primary")
    st.button("Second", key="judge_second", shortcut="2", on_click=act, args=args("second"), type="primary")
    st.button("Tie", key="judge_tie", shortcut="3", on_click=act, args=args("tie"))
    st.button("Both bad", key="judge_both_bad", shortcut="4", on_click=act, args=args("both_bad"))
    st.button("Skip", key="judge_skip", shortcut="s", on_click=act, args=args("skip"))


def _result(view: View, sample: Sample) -> None:
    """What the sample proves, and where human and engine differ."""
    result = result_of(view.computed, sample)
    components.headline("sample", result.words, lead=[sample_view.mark(result), f" {result.target_words}"])
    counted = blocks.paragraph(blocks.muted(sample_view.DEFECT, blocks.SMALL))
    components.section("counts", "Your judgements", sample_view.counts_table(result), counted)
    labelled = view.manifest.verification == "dataset_label"
    components.section(
        "agreement", "You against the data set's labels" if labelled else "You against the verifier",
        *sample_view.agreement_blocks(result, "the data set's label" if labelled else "the verifier"),
    )
    components.section("drawn", "How it was drawn", sample_view.drawn_facts(result))
    _disagreements(result.disagreements)


def _disagreements(labels: tuple[Label, ...]) -> None:
    if not labels:
        components.section("disagreements", "Disagreements", blocks.paragraph(blocks.muted("None: you found no defect.")))
        return
    title = f"{words.plural(len(labels), 'pair')} on which you and the engine disagree"
    components.section("disagreements", title)
    page = components.pager("pairs_page", pair_browser.pages_of(len(labels)))
    start = (page - 1) * PAGE_ROWS
    components.sheet("disagreements", sample_view.disagreements_table(labels[start: start + PAGE_ROWS]))
