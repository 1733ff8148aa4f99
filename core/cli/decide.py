"""``countersign decide``: the engine's verdict on a round, as a table, as JSON, or as the bare receipt."""
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final

import typer

from core.cli import output
from core.cli.options import DEFAULT_WORKSPACE, JsonOption, WorkspaceOption
from core.cli.output import Cell, Styled
from core.errors import EXIT, CountersignError, IdentityError, RoundError, Where
from core.files import is_file
from core.gates.assessment import Assessment, headline, load_or_assess
from core.gates.confirmed import confirmed_assessment
from core.gates.holdout import differences_from_locked
from core.gates.judge_words import NO_JUDGES
from core.gates.receipt import PROMOTE_AWAITING, Decision, decide
from core.gates.strength_words import holdout_sentences, texts_of
from core.grid import Grid, default_grid, load_grid
from core.persons.identity import person_key
from core.persons.registry import Registry
from core.rounds.folder import ROUND_FILE, Round
from core.rounds.ingest import load_bundle
from core.rounds.readers import json_list
from core.rounds.workspace import Workspace
from core.schemas import REASONS
from core.settings import SETTINGS
from core.signing.admission import Rules, sound_status
from core.signing.grids import AcceptedGrids
from core.signing.ledger import Ledger
from core.signing.status import State, round_status

_ROWS: Final[int] = SETTINGS["display"]["page_rows"]
_STYLES = {"holds": "pass", "fails": "refuse", "undefined": "refuse", "warning": "held", "open": "held", "noted": "dim"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("decide")(decide_command)


@contextmanager
def _opened(source: str, workspace: Path) -> Iterator[tuple[Round, Workspace]]:
    """The round that SOURCE names and the workspace that keeps its assessment: a bundle and a loose folder get one of
    their own that is gone afterwards."""
    path = Path(source)
    if is_file(path):
        with load_bundle(_bundle_bytes(path), path.name, now=datetime.now(UTC)) as opened, _scratch() as scratch:
            yield opened, scratch
    elif is_file(path / ROUND_FILE):
        opened = Round.open(path)
        opened.verify_files()
        with _scratch() as scratch:
            yield opened, scratch
    else:
        yield _of_workspace(source, workspace)


def _bundle_bytes(path: Path) -> bytes:
    try:
        return json_list.read_bytes(path, path.name)
    except OSError as problem:
        raise _unread(str(path), problem.strerror or "an error") from problem


def _unread(source: str, got: str) -> RoundError:
    return RoundError(
        "cannot_read", expected="a bundle, a round folder, or a round of the workspace", got=got, remedy="check the path", where=Where(source),
    )


def _of_workspace(source: str, workspace: Path) -> tuple[Round, Workspace]:
    try:
        place = Workspace.open(workspace)
        return place.round(source), place
    except CountersignError as problem:
        # what reads like a file name was meant as one: a workspace is not what is missing
        if problem.code not in ("no_workspace", "unknown_round") or not (Path(source).suffix or os.sep in source):
            raise
        raise _unread(source, "no such file or folder") from problem


@contextmanager
def _scratch() -> Iterator[Workspace]:
    with TemporaryDirectory(prefix="countersign-") as folder:
        yield Workspace.open(Path(folder), create=True)


def _registry(place: Workspace) -> Registry | None:
    """The workspace's registry, so that aliases and owners count; a bundle or a loose folder has none, and needs none."""
    return Registry.load(place.registry_file) if place.registry_file.is_file() else None


def _reviewer(opened: Round, stated: str | None) -> str | None:
    named = opened.manifest.reviewer
    if stated is None or named is None:
        return stated if named is None else named
    try:
        same = person_key(stated) == person_key(named)
    except IdentityError as problem:
        raise RoundError(
            problem.code, expected=problem.expected, got=problem.got, remedy=problem.remedy, where=Where(field="--reviewer"),
        ) from problem
    if not same:
        raise RoundError(
            "reviewer_is_named", expected=f"{named}, the reviewer that the round names", got=repr(stated),
            remedy="leave --reviewer out, or propose the round without a named reviewer", where=Where(field="--reviewer"),
        )
    return named


def decide_command(
    source: Annotated[str, typer.Argument(metavar="ROUND", help="A round of the workspace (digest, prefix or id), a round folder, or a bundle.")],
    reviewer: Annotated[str | None, typer.Option("--reviewer", help="Id of the reviewer; settles the receipt.")] = None,
    grid: Annotated[Path | None, typer.Option("--grid", help="A grid file instead of the default grid.")] = None,
    canonical: Annotated[bool, typer.Option("--canonical", help="Print the receipt (or refusal record) alone, as RFC 8785 bytes.")] = False,
    require_approved: Annotated[
        bool, typer.Option("--require-approved", help="Exit 3 unless the ledger holds an approval of this round. Implies --fresh."),
    ] = False,
    fresh: Annotated[
        bool, typer.Option(
            "--fresh", help="Compute again from the round, and exit 6 where the stored assessment is another one. --canonical and --json imply it.",
        ),
    ] = False,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """Compute every check of a round and print the verdict. Exit 0: the engine would promote; 3: it refuses."""
    rules = default_grid() if grid is None else load_grid(grid)
    with _opened(source, workspace) as (opened, place):
        person = _reviewer(opened, reviewer)
        with output.progress(quiet=as_json or canonical) as progress:
            # a program acts on these: no stored figure stands behind them
            source_of = confirmed_assessment if fresh or require_approved or canonical or as_json else load_or_assess
            assessment = source_of(place, opened, rules, lambda done, total: progress("pairs", done, total))
        decision = None if person is None else decide(assessment, person, _registry(place))
        approved = _approved(place, opened)
        if canonical:
            output.raw(_canonical(decision) + b"\n")
        elif as_json:
            output.document(_document(assessment, decision, approved) | {"holdout_differences": _what_differs(place, opened, assessment)})
        else:
            _print(assessment, decision, rules, approved, _what_differs(place, opened, assessment))
    promote = assessment.verdict == PROMOTE_AWAITING if decision is None else decision.promote
    if not promote or (require_approved and not approved):
        raise typer.Exit(EXIT["refused"])


def _what_differs(place: Workspace, opened: Round, assessment: Assessment) -> list[str] | None:
    """What differs from the list that was locked, where the lock does not hold and the workspace has that list."""
    holdout = assessment.document["holdout"]
    if holdout is None or holdout["lock"]["holds"]:
        return None
    return differences_from_locked(place, opened, holdout["lock"]["registered"])


def _approved(place: Workspace, opened: Round) -> bool:
    """Whether the workspace's ledger closed this round with approvals that hold under its registry and accepted grids. A
    loose round has no ledger, and nothing holds without a registry: then it is not."""
    view = Ledger(place.ledger_file).read()
    if round_status(view, opened.digest).proposal is None or not place.registry_file.is_file():
        return False
    rules = Rules(Registry.load(place.registry_file), AcceptedGrids.of(place), datetime.now(UTC))
    return sound_status(view, opened.digest, rules).state is State.APPROVED


def _canonical(decision: Decision | None) -> bytes:
    if decision is None:
        raise RoundError(
            "missing_field", expected="a reviewer: the receipt is a function of the assessment and the reviewer", got="none",
            remedy="add reviewer_id to the bundle, or --reviewer", where=Where(field="reviewer_id"),
        )
    return decision.receipt_bytes


def _document(assessment: Assessment, decision: Decision | None, approved: bool) -> dict[str, Any]:
    return {
        "verdict": assessment.verdict, "headline": headline(assessment.document), "approved": approved,
        "promote": None if decision is None else decision.promote,
        "distinct_reviewer": None if decision is None else decision.check.as_dict(),
        "receipt": None if decision is None else decision.receipt,
        "refusal": assessment.document["refusal"] if decision is None else decision.refusal,
        "assessment": dict(assessment.document),
    }


def _print(assessment: Assessment, decision: Decision | None, grid: Grid, approved: bool, differences: list[str] | None) -> None:
    document = assessment.document
    output.line(headline(document), "pass" if assessment.verdict == PROMOTE_AWAITING else "refuse")
    output.facts([
        ("round", f"{document['round_id']} {assessment.round_digest}"), ("grid", f"{grid.name} version {grid.version} {grid.digest}"),
        ("engine", f"{document['engine_version']} {assessment.code_digest}"), ("proposed by", ", ".join(assessment.proposers)),
    ])
    checks = [*document["checks"]]
    if decision is not None:
        checks = [check for check in checks if check["name"] != decision.check.name] + [decision.check.as_dict()]
    strengths = texts_of(assessment.strength)
    rows = [_row(check, strengths[check["name"]]["text"]) for check in checks]
    output.table(("check", "state", "observed", "bound", "distance", "strength"), rows, title="Checks")
    if document["judges"]:
        output.table(("judge", "gate", "kappa", "agreement", "false-positive approvals"), _judge_rows(document["judges"]), title="Judges")
        output.table(("judge", "check", "strength", "from flipping"), _strength_rows(assessment.strength), title="What the judges' cases prove")
    else:
        output.line(NO_JUDGES)
    _print_pairs(document)
    for sentence in holdout_sentences(assessment.strength):
        output.line(sentence)
    for sentence in differences or ():
        output.line(f"Against the locked list: {sentence}")
    for check in checks:
        if check["remedy"] is not None:
            output.line(f"To hold: {check['remedy']}")
    if document["refusal"] is not None:
        output.table(("reason", "detail"), [(item["code"], item["detail"]) for item in document["refusal"]["reasons"]], title="No receipt, because")
    output.line(_closing(assessment, decision, approved), "strong")


def _row(check: dict[str, Any], strength: str) -> tuple[Cell, ...]:
    distance = "" if check["distance"] is None else check["distance"]["text"]
    return (check["name"], Styled(check["state"], _STYLES[check["state"]]), check["observed"]["text"], check["bound"]["text"], distance, strength)


def _strength_rows(strength: Mapping[str, Any]) -> list[tuple[Cell, ...]]:
    return [(judge["judge_id"], check["name"], check["text"], check["flip"]["text"]) for judge in strength["judges"] for check in judge["checks"]]


def _judge_rows(judges: dict[str, Any]) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for judge_id, judge in judges.items():
        gate = judge["gate"]
        over = f" (figures over {judge['n']:,} of {judge['n_records']:,} cases)" if judge["missing"] else ""
        state = Styled("open", "pass") if gate["open"] else Styled(f"closed: {', '.join(gate['failing'])}{over}", "refuse")
        rows.append((judge_id, state, *(check["observed"]["text"] for check in gate["checks"] if check["name"] != "missing_verdict")))
    return rows


def _print_pairs(document: dict[str, Any] | Any) -> None:
    table = document["reason_table"]
    output.line(
        f"Pairs: {table['in']:,} in = {table['admitted']:,} admitted + {table['rejected']:,} rejected + {table['held']:,} held"
        f" + {table['quarantined']:,} quarantined",
    )
    if table["rejected"]:
        parts = reason_parts(document["curation"])
        rows = [row for reason in REASONS if table["reasons"][reason] for row in ((reason, "", table["reasons"][reason]), *parts.get(reason, ()))]
        output.table(("rejected because", "of these", "pairs"), rows, right=("pairs",))
    if "cutoff" in document:
        _print_cutoff(document["cutoff"])


def _print_cutoff(cut: Mapping[str, Any]) -> None:
    equal, shown = cut["equal"]["total"], cut["listed"][:_ROWS]
    for sentence in cut["sentences"]:
        output.line(sentence, "held" if equal and sentence == cut["sentences"][0] else None)
    if not shown:
        return
    title = f"Equal under the cut-off: {len(shown):,} of {equal:,} pairs{', more of them with --json' if len(shown) < equal else ''}"
    output.table(("pair", "known how", "why"), [(pair["pair_id"], pair["basis"], pair["text"]) for pair in shown], title=title)
    for sentence in cut["not_known"]:
        output.line(sentence, "dim")


def reason_parts(curation: Mapping[str, Any]) -> dict[str, list[tuple[Cell, ...]]]:
    """The rows below a reason: invalid records by their first sub-code, duplicates by the keys that they share with an admitted pair.
    Each pair is in one row, so they add up to the reason."""
    codes = [("", code, pairs) for code, pairs in curation["sub_codes"].items() if pairs]
    keys = [("", f"same {', '.join(item['keys'])}", item["pairs"]) for item in curation["duplicate_keys"] if item["pairs"]]
    return {"invalid_record": list(codes), "duplicate": list(keys)}


def _closing(assessment: Assessment, decision: Decision | None, approved: bool) -> str:
    if approved:
        return "The ledger holds an approval of this round."
    if decision is not None and not decision.promote and assessment.verdict == PROMOTE_AWAITING:
        return "Refused: the reviewer is the proposer. Another person has to review."
    if assessment.verdict == PROMOTE_AWAITING:
        return "Not approved yet: another person has to review and sign."
    return "The engine refuses this round; a refusal cannot be overridden."
