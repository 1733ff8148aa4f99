"""The list of rounds: what awaits you, then every round with its figures and their small trends. Pure but for the upload."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from core.errors import CountersignError
from core.rounds.ingest import IngestReport, ingest_bundle_bytes
from core.rounds.workspace import BrokenRound, Workspace
from core.settings import SETTINGS
from dashboard import blocks, components, frame, holdout_view, left_out, words
from dashboard.blocks import Block, Span, badge, muted, strong, text
from dashboard.loaders import Entry
from dashboard.standing import Standing, earlier_rejections, signer_words

Row = tuple[Entry, Standing]
_REPORT, _ERROR = "upload_report", "upload_error"


def headline_words(rows: Sequence[Row], person: str | None) -> str:
    """What awaits whom."""
    awaiting = sum(one.awaits for _, one in rows)
    if person is None:
        waiting = sum(one.kind in ("awaiting_you", "awaiting_others") for _, one in rows)
        return f"{words.plural(waiting, 'round')} {'awaits' if waiting == 1 else 'await'} a reviewer" if waiting else "No round awaits a reviewer"
    return f"{words.plural(awaiting, 'round')} {'awaits' if awaiting == 1 else 'await'} you" if awaiting else "No round awaits you"


def lead(waiting: Sequence[Row], person: str | None) -> list[Span | str] | None:
    """What to do with the rounds that wait."""
    if not waiting:
        return None
    step = "Open one and read the evidence; a promotion can be approved or rejected, a refusal can only be signed as a rejection."
    return [step if person is not None else f"{step} Say who you are in the side bar to see which of them await you."]


def waiting_rows(rows: Sequence[Row], person: str | None) -> list[Row]:
    """The rounds to open first: those that await you, or any reviewer while nobody said who sits here."""
    kinds = ("awaiting_you",) if person is not None else ("awaiting_you", "awaiting_others")
    return [row for row in rows if row[1].kind in kinds]


def waiting_block(rows: Sequence[Row]) -> Block:
    """One line a waiting round: open it, what the engine says, who proposed it when, what was said about it before."""
    items = []
    for entry, _ in rows:
        manifest = entry.manifest
        verdict = [frame.verdict_badge(entry.document)] if entry.document is not None else [muted("not assessed yet")]
        proposed = f"  proposed by {', '.join(manifest.proposers)}, {words.day(manifest.created_at)}"
        item: list[Span] = [round_link(entry), text("  "), *verdict, text(proposed), *([muted(f"  {manifest.label}")] if manifest.label else [])]
        for line in earlier_rejections(entry.earlier, manifest.round_id):
            item += [{"k": "break"}, *line]
        items.append(item)
    return blocks.bullets(*items)


def round_link(entry: Entry) -> Span:
    """The way into a round."""
    return blocks.link(entry.manifest.round_id, "overview", round=words.short_digest(entry.digest))


def kappa_of(document: Mapping[str, Any], calibrated: str | None) -> Mapping[str, Any] | None:
    """Kappa of the receipt's calibrated judge, or of the only judge; None where neither is."""
    judges = document["judges"]
    judge = judges.get(calibrated) if calibrated else next(iter(judges.values())) if len(judges) == 1 else None
    return None if judge is None else judge["kappa"]


def figures(entry: Entry) -> dict[str, float | None]:
    """The figures of a round that its trends follow; None where there is none."""
    document = entry.document
    names = ("kappa", "admitted", "net_gain", "regressions")
    if document is None:
        return dict.fromkeys(names)
    judges = entry.manifest.receipt_judges
    kappa = kappa_of(document, judges.calibrated if judges else None)
    outcomes = (document["holdout"] or {}).get("outcomes")
    return {
        "kappa": None if kappa is None else kappa["value"],
        "admitted": None if "pairs" in document["missing_parts"] else document["reason_table"]["admitted"],
        "net_gain": None if outcomes is None else outcomes["net_gain"]["value"],
        "regressions": None if outcomes is None else outcomes["regression_rate"]["value"],
    }


def trend(rows: Sequence[Row], name: str, label: str) -> list[Span]:
    """A small trend over the last rounds, oldest first."""
    values = [figures(entry)[name] for entry, _ in rows[: SETTINGS["display"]["trend_rounds"]]][::-1]
    known = [value for value in values if value is not None]
    if len(known) <= 1:
        return []
    low, span = min(known), max(known) - min(known)
    points = [None if value is None else (value - low) / span if span else 0 for value in values]
    first, last = words.decimal(known[0]), words.decimal(known[-1])
    return [blocks.sparkline(points, f"{label} over {words.plural(len(known), 'round')}, oldest first: from {first} to {last}")]


def rounds_table(rows: Sequence[Row]) -> Block:
    """Every round, newest first."""
    columns = [
        blocks.column("Round", head=True, sort=True), blocks.column("Proposed", sort=True, down=True),
        blocks.column("State", sort=True), blocks.column("Engine", sort=True),
        *(blocks.column(title, align="right", sort=True, down=True, under=trend(rows, name, title))
          for name, title in (("kappa", "Kappa"), ("admitted", "Admitted"), ("net_gain", "Net gain"), ("regressions", "Regressions"))),
        blocks.column("Signer", sort=True),
    ]
    return blocks.table("rounds", columns, [_row(entry, one) for entry, one in rows], label="Rounds, newest first")


def _row(entry: Entry, one: Standing) -> dict[str, Any]:
    manifest, document, known = entry.manifest, entry.document, figures(entry)
    below: list[list[Span]] = [[muted(manifest.label)]] if manifest.label else []
    below += earlier_rejections(entry.earlier, manifest.round_id)
    below += [left_out.row_line(entry.left_out)] if entry.left_out else []
    proposed = [text(words.day(manifest.created_at), "nowrap"), {"k": "break"}, muted(", ".join(manifest.proposers), blocks.SMALL, "keep")]
    signer = signer_words(entry.status)
    engine = [muted("not assessed yet")] if document is None else [frame.verdict_badge(document)]
    return blocks.row(
        blocks.cell(round_link(entry), sort=manifest.round_id), blocks.cell(*proposed, sort=manifest.created_at),
        blocks.cell(*_state(one), sort=one.word),
        blocks.cell(*engine, sort="" if document is None else document["verdict"]), *_figure_cells(entry, known),
        blocks.cell(text(signer, "keep"), sort=signer or None), detail=_lines(below),
    )


def _state(one: Standing) -> list[Span]:
    """The state; *by reviewer* below it, so that the badge stays on one line."""
    word, by, whom = one.word.partition(" by ")
    return [badge(word, one.tone, one.icon), *([{"k": "break"}, muted(f"by {whom}", blocks.SMALL)] if by else [])]


def _lines(lines: Sequence[Sequence[Span]]) -> list[Span]:
    """Lines one below the other, as spans of one cell."""
    spans: list[Span] = []
    for line in lines:
        spans += [*([{"k": "break"}] if spans else []), *line]
    return spans


def _figure_cells(entry: Entry, known: Mapping[str, float | None]) -> list[dict[str, Any]]:
    document = entry.document
    if document is None:
        return [blocks.cell() for _ in known]
    judges = entry.manifest.receipt_judges
    kappa = kappa_of(document, judges.calibrated if judges else None)
    outcomes = (document["holdout"] or {}).get("outcomes")
    admitted = known["admitted"]
    return [
        blocks.cell(*_kappa(kappa, len(document["judges"])), sort=known["kappa"]),
        blocks.cell(muted("no pairs") if admitted is None else text(words.count(int(admitted))), sort=admitted),
        blocks.cell(*_fraction(outcomes, "net_gain"), sort=known["net_gain"], tone="keep"),
        blocks.cell(*_fraction(outcomes, "regression_rate"), sort=known["regressions"], tone="keep"),
    ]


def _kappa(kappa: Mapping[str, Any] | None, judges: int) -> list[Span]:
    if kappa is None:
        return [muted(words.plural(judges, "judge") if judges else "no judge")]
    return [text(words.exact(kappa))] if kappa["undefined"] is None else [badge("undefined", "off", "question")]


def _fraction(outcomes: Mapping[str, Any] | None, name: str) -> list[Span]:
    if outcomes is None:
        return [muted("no outcomes")]
    said = holdout_view.signed_fraction(outcomes[name]) if name == "net_gain" else words.fraction(outcomes[name])
    counted, _, rate = said.partition(", ")
    return [text(f"{counted},", "nowrap"), text(" "), text(rate, "nowrap")]


def broken_block(broken: Sequence[BrokenRound]) -> list[Block]:
    """Rounds that cannot be opened: which, why, and what to do."""
    return [
        blocks.notice("broken", "bad", [blocks.digest(one.name), text("  "), strong(f"expected {one.error.expected}"), f"; got {one.error.got}."],
                      [f"To do ({one.error.who}): {one.error.remedy}."])
        for one in broken
    ]


def upload(workspace: Callable[[], Workspace]) -> None:
    """Bring in a bundle. The file's name gives the id where none is typed, and never becomes a path."""
    with st.expander("Upload a bundle", icon=":material/upload_file:", expanded=_REPORT in st.session_state or _ERROR in st.session_state):
        file = st.file_uploader("One-file bundle (JSON)", type=["json"], key="bundle", max_upload_size=SETTINGS["server"]["max_upload_mb"])
        round_id = st.text_input("Round id (else the file's name)", key="bundle_round_id", max_chars=SETTINGS["text"]["id_characters"])
        st.button("Ingest", key="ingest", type="primary", disabled=file is None, on_click=_ingest, args=(workspace, file, round_id))
        if _ERROR in st.session_state:
            components.error_notice("upload", st.session_state[_ERROR])
        if _REPORT in st.session_state:
            components.sheet("uploaded", *report_blocks(st.session_state[_REPORT]))


def _ingest(workspace: Callable[[], Workspace], file: Any, round_id: str) -> None:
    """Callback: one core call. A second click finds the round there already: a round is named by its content and time."""
    st.session_state.pop(_REPORT, None)
    st.session_state.pop(_ERROR, None)
    stamp = st.session_state.setdefault(f"upload_time_{file.file_id}", datetime.now(UTC))
    try:
        st.session_state[_REPORT] = ingest_bundle_bytes(file.getvalue(), file.name, workspace(), round_id=round_id.strip() or None, now=stamp)
    except CountersignError as error:
        st.session_state[_ERROR] = error


def report_blocks(report: IngestReport) -> list[Block]:
    """What an upload did, and the way into the round."""
    word = "was in the workspace already" if report.already_present else "was ingested; nothing was dropped"
    parts = ", ".join(f"{words.count(rows)} {words.PART_TITLES[part]}" for part, rows in report.counts.items())
    return [
        blocks.notice(
            "check", "ok", [strong(report.round_id), text(f" {word}: {parts}; {words.plural(report.quarantined, 'row')} quarantined.")],
            ["Next: ", blocks.link("open it", "overview", round=words.short_digest(report.digest)), "."],
        ),
        *([blocks.bullets(*([note.text] for note in report.notes))] if report.notes else []),
    ]

