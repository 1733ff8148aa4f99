"""One card a judge: open or closed with what keeps it closed, the table of cells, the figures, its cases and its rubric."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from core.canonical import canonical_digest
from core.gates import judge_words
from core.settings import SETTINGS
from core.statistics.judge_evidence import JudgeEvidence
from dashboard import blocks, check_table, components, judge_loaders, judge_sections, judge_view, loaders, navigation, overview_view, words
from dashboard.blocks import Block, Span, mono, muted, strong, text
from dashboard.frame import View

Judge = Mapping[str, Any]
_GRID_OF_CELLS: Final = (("tp", "fp"), ("fn", "tn"))
"""Rows of the table: the judge approved, did not approve; the verifier's passes to the left."""
_CASE_COLUMNS: Final = {"slice": ("Slice", "left"), "choice": ("Choice", "left"), "rubric_score": ("Score", "right")}
_TEXTS: Final = (("prompt", "Prompt"), ("response", "Response"), ("response_b", "Second response"), ("rationale", "Rationale"))


def headline_words(document: Mapping[str, Any]) -> str:
    """How many judges may feed synthetic pairs."""
    judges = document["judges"]
    opened = sum(judge["gate"]["open"] for judge in judges.values())
    if not judges:
        return "No judge is recorded in this round"
    if not opened:
        return "No judge of this round may feed synthetic pairs"
    return f"{words.count(opened)} of {words.plural(len(judges), 'judge')} may feed synthetic pairs"


def evidence(document: Mapping[str, Any]) -> list[Span]:
    """What keeps the closed gates closed, the first few named."""
    closed = [(judge_id, judge) for judge_id, judge in overview_view.by_state(document) if not judge["gate"]["open"]]
    named = SETTINGS["dashboard"]["named_judges"]
    spans: list[Span] = []
    for judge_id, judge in closed[:named]:
        first = next(check for check in judge["gate"]["checks"] if check["name"] == judge["gate"]["failing"][0])
        spans += [strong(judge_id), text(f": {words.in_sentence(first['name'])} {first['observed']['text']} ({first['bound']['text']}). ")]
    if len(closed) > named:
        spans.append(muted(f"And {words.plural(len(closed) - named, 'more closed gate')}."))
    return spans or [text("Every gate is open: the judges agree with the verifier as the grid asks.")]


def draw(view: View, judge_id: str, judge: Judge, *, alone: bool = False) -> None:
    """The whole card. ``alone``: the only one on the page, so that a view without a judge's name means this one."""
    key = _slug(judge_id)
    named = navigation.view("judge") == judge_id or (alone and navigation.view("judge") is None)
    evidence = judge_loaders.figures(view, judge_loaders.cases(view, judge_id))
    with st.container(border=True, key=f"card-{key}"):
        components.sheet(f"judge-{key}", *_head(view, judge_id, judge))
        left, right = st.columns(SETTINGS["dashboard"]["narrow_wide"], gap="medium")
        with left:
            _cells(judge_id, judge)
            components.sheet(f"synthetic-{key}", *_synthetic(judge_id, judge), judge_view.paradox(evidence))
        with right:
            components.sheet(f"figures-{key}", figures_table(judge_id, judge, evidence))
        if navigation.view("judge") == judge_id and navigation.view("cell") in words.CELL_TITLES:
            _cases(view, judge_id, judge, str(navigation.view("cell")))
        judge_sections.draw(view, judge_id, key, named=named)
        with st.expander("Rubric and version", icon=":material/rule:"):
            components.sheet(f"rubric-{key}", *_rubric(view, judge_id))


def _slug(judge_id: str) -> str:
    """The judge's id as a key that may become a name of a style; ids that come out alike keep apart by their digest."""
    slug = "".join(character if character.isascii() and character.isalnum() else "-" for character in judge_id)
    return slug if slug == judge_id else f"{slug}-{words.short_digest(canonical_digest(judge_id))}"


def _head(view: View, judge_id: str, judge: Judge) -> list[Block]:
    failing = [words.in_sentence(name) for name in judge["gate"]["failing"]]
    said = [text("  "), text(f"kept closed by {', '.join(failing)}")] if failing else []
    roles = [role for role, name in _roles(view).items() if name == judge_id]
    extra = [muted(f"  the receipt's {roles[0]} judge")] if roles else []
    title = blocks.heading(text(judge_id), text("  "), overview_view.gate_badge(judge))
    return [title, *([blocks.paragraph(*said, *extra)] if said or extra else [])]


def _roles(view: View) -> dict[str, str]:
    named = view.manifest.receipt_judges
    return {} if named is None else {"calibrated": named.calibrated, "uncalibrated": named.uncalibrated}


def _cells(judge_id: str, judge: Judge) -> None:
    chosen = navigation.view("cell") if navigation.view("judge") == judge_id else None
    missing = f", {words.plural(len(judge['missing']), 'verdict')} missing" if judge["missing"] else ""
    caption = f"Rubric against verifier, n = {overview_view.cases_words(judge)}{missing}. Open a cell to read its cases."
    components.sheet(f"cells-{judge_id}", blocks.paragraph(muted(caption, blocks.SMALL)))
    above_cap = "false_positive_rate" in judge["gate"]["failing"] and judge["fpr"]["value"] is not None
    for cells in _GRID_OF_CELLS:
        for column, cell in zip(st.columns([1] * len(cells), gap="xsmall"), cells, strict=True):
            with column:
                _cell(judge_id, judge, cell, judge[cell], above_cap and cell == "fp", chosen == cell)
    if judge["missing"]:
        components.cell_button(
            f"cell-{judge_id}-missing", "missing", len(judge["missing"]), judge["n_records"], marked=False, chosen=chosen == "missing",
            on_click=_open_cell, args=(judge_id, "missing"),
        )


def _cell(judge_id: str, judge: Judge, cell: str, count: int, marked: bool, chosen: bool) -> None:
    components.cell_button(
        f"cell-{judge_id}-{cell}", cell, count, judge["n"], marked=marked, chosen=chosen, on_click=_open_cell, args=(judge_id, cell),
    )


def _open_cell(judge: str, cell: str) -> None:
    navigation.set_view(judge=judge, cell=cell, case=None, cases_page=None)


def figures_table(judge_id: str, judge: Judge, evidence: JudgeEvidence) -> Block:
    """The gate's figures against their bounds, failing first, each with its interval and what it proves; then what stands beside them."""
    checks = check_table.in_order(judge["gate"]["checks"])
    beside = [
        ("False discoveries", words.fraction(judge["fdr"]), "failed answers among the approved"),
        ("Prevalence of passes", words.fraction(judge["prevalence"]), "cases that the verifier passed"),
        ("PABAK", judge_words.figure(evidence.chance.pabak), "balanced classes"),
        ("Gwet's AC1", judge_words.figure(evidence.chance.ac1), "other chance model"),
    ]
    split = [check_table.split_figure(said) for said in (*(check["observed"]["text"] for check in checks), *(observed for _, observed, _ in beside))]
    figures = check_table.aligned([figure for _, figure in split])
    rows = [_check_row(check, counted, figure, evidence) for check, (counted, _), figure in zip(checks, split, figures, strict=False)]
    for (title, _, meaning), (counted, _), figure in zip(beside, split[len(checks):], figures[len(checks):], strict=True):
        rows.append(blocks.row(
            blocks.cell(text(title)), blocks.cell(), blocks.cell(text(counted), tone="nowrap"), blocks.cell(*figure, tone="nowrap"),
            blocks.cell(text(meaning)), tone="quiet",
        ))
    columns = [blocks.column("Figure", head=True, sort=True), blocks.column("State", sort=True), blocks.column("Counted", align="right"),
               blocks.column("Observed", align="right"), blocks.column("Bound")]
    return blocks.table(f"figures-{judge_id}", columns, rows, label=f"Figures of judge {judge_id}")


def _check_row(check: Mapping[str, Any], counted: str, figure: list[Span], evidence: JudgeEvidence) -> dict[str, Any]:
    tone = {"fails": "bad", "undefined": "off"}.get(check["state"])
    distance = [{"k": "break"}, muted(check["distance"]["text"], blocks.SMALL)] if check["distance"] else []
    return blocks.row(
        blocks.cell(text(words.check_title(check["name"])), sort=check["name"]), blocks.cell(check_table.state_badge(check), sort=check["state"]),
        blocks.cell(text(counted), tone="nowrap"), blocks.cell(*figure, tone="nowrap"),
        blocks.cell(text(check["bound"]["text"], "nowrap"), *distance),
        tone=tone, detail=judge_view.check_detail(check["name"], evidence),
    )


def _synthetic(judge_id: str, judge: Judge) -> list[Block]:
    counts = judge["synthetic"]
    spans = overview_view.synthetic_spans(judge_id, judge)
    said = [text("Synthetic pairs of this judge: "), *spans]
    if counts and counts["total"]:
        said.append(muted(f"  of {words.count(counts['total'])}; {words.count(counts['invalid'])} invalid"))
    lines = [blocks.paragraph(*said)]
    if judge["swapped_records"]:
        swapped = f"{words.plural(judge['swapped_records'], 'record')} with the two answers swapped: for the position figures, never for the gate."
        lines.append(blocks.paragraph(muted(swapped, blocks.SMALL)))
    return lines


def _cases(view: View, judge_id: str, judge: Judge, cell: str) -> None:
    total = len(judge["missing"]) if cell == "missing" else judge[cell]
    components.section(f"cases-{judge_id}", f"{words.plural(total, 'case')}: {words.CELL_TITLES[cell]}")
    left, right = st.columns(SETTINGS["dashboard"]["narrow_wide"], gap="medium")
    with left:
        page = components.pager("cases_page", max(-(-total // SETTINGS["display"]["page_rows"]), 1))
        rows = loaders.judge_cases(view.round, view.computed, judge_id, cell, page)
        components.sheet(f"case-list-{judge_id}", _case_table(judge_id, cell, rows))
    with right:
        _case(view, judge_id, navigation.view("case") or (rows[0]["case_id"] if rows else None))


def _case_table(judge_id: str, cell: str, rows: list[dict[str, Any]]) -> Block:
    opened = navigation.view("case") or (rows[0]["case_id"] if rows else None)
    page = {"cases_page": str(navigation.view("cases_page"))} if navigation.view("cases_page") else {}
    shown = [name for name in _CASE_COLUMNS if any(row[name] is not None for row in rows)]
    further = [blocks.column(_CASE_COLUMNS[name][0], sort=True, align=_CASE_COLUMNS[name][-1]) for name in shown]
    columns = [blocks.column("Case", head=True, sort=True), *further]
    return blocks.table(f"cases-{judge_id}-{cell}", columns, [
        blocks.row(
            blocks.cell(blocks.link(row["case_id"], "judges", judge=judge_id, cell=cell, case=row["case_id"], **page), sort=row["case_id"]),
            *(blocks.cell(text(_case_value(row[name])), sort=row[name]) for name in shown),
            chosen=row["case_id"] == opened,
        ) for row in rows
    ], label="Cases of this cell", tall=True)


def _case_value(value: float | str | None) -> str:
    return "" if value is None else words.decimal(value) if isinstance(value, float) else value


def _case(view: View, judge_id: str, case_id: str | None) -> None:
    records = view.queries().judge_case(judge_id, case_id) if case_id else []
    if not records:
        components.state_notice(f"case-{judge_id}", "empty", "No case is open.", "Choose one from the list.")
        return
    components.sheet(f"case-{judge_id}", *case_blocks(records))


def case_blocks(records: list[dict[str, Any]]) -> list[Block]:
    """A case to read: both verdicts, then prompt, answers and rationale; what was not supplied says so."""
    record = records[0]
    rows = [("Case", [mono(record["case_id"])]), ("Judge", [strong(_verdict(record["rubric_approved"], "approved", "not approved"))]),
            ("Verifier", [strong(_verdict(record["verifier_passed"], "passed", "failed"))])]
    rows += [(title, [text(record[name])]) for name, title in (("choice", "Choice"), ("slice", "Slice")) if record[name] is not None]
    if record["own_output"] is not None:
        rows.append(("Own output", [text("the judge wrote it itself" if record["own_output"] else "written by another model")]))
    rows += [("Answers swapped", [text(f"judge {_verdict(other['rubric_approved'], 'approved', 'not approved')}")]) for other in records[1:]]
    content = [blocks.facts(rows)]
    for name, title in _TEXTS:
        value = record[name]
        if value is None and name == "response_b":
            continue
        said = "not supplied" if value is None else words.plural(len(value), "character")
        content.append(blocks.heading(text(title), muted(f"  {said}", blocks.SMALL), level="h3"))
        content += [] if value is None else [blocks.model_text(value)]
    return content


def _verdict(value: bool | None, yes: str, no: str) -> str:
    return "no usable verdict" if value is None else yes if value else no


def _rubric(view: View, judge_id: str) -> list[Block]:
    judge = view.manifest.judges.get(judge_id)
    if judge is None:
        return [blocks.paragraph(muted("Not supplied: the round says nothing about this judge."))]
    digest = [blocks.digest(judge.rubric_sha256, "the rubric's digest")] if judge.rubric_sha256 else [muted("not stated")]
    rows = [("Name", [text(judge.name or "not stated")]), ("Version", [text(judge.version or "not stated")]), ("Rubric digest", digest)]
    said = blocks.prose(judge.rubric) if judge.rubric else blocks.paragraph(muted("Rubric text: not supplied."))
    return [blocks.facts(rows), said]
