"""Rounds to export: the worked example with more pairs, chat and tool calls among them, proposed and approved by the people of the desk."""
from __future__ import annotations

import copy
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from support_desk import CREATED, Desk, desk
from support_rounds import bundle, folder_of, pair, round_of, tables_of
from support_signing import NOW

from core.export.beside import Wanted
from core.export.dataset import Dataset, export_dataset
from core.export.provenance import signed_provenance, unsigned_provenance
from core.export.shapes import shape_named
from core.rounds.folder import Round
from core.rounds.ingest import ingest

LATER = NOW + timedelta(minutes=1)
TOOLS = [{"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {
    "type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": ["array", "null"], "items": {"type": "boolean"}}}}}}]


def say(role: str, content: str | None, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def call(arguments: Any, name: str = "add", number: str = "c1") -> dict[str, Any]:
    return {"id": number, "type": "function", "function": {"name": name, "arguments": arguments}}


CHAT = [
    pair(pair_id="chat-1", prompt=[say("system", "Be brief."), say("user", "Name a river.")], chosen=[say("assistant", "The Danube.")],
         rejected=[say("assistant", "A lake.")]),
    pair(pair_id="chat-2", prompt=[say("user", "Name a hill."), say("assistant", "Which land?"), say("user", "Peru.")],
         chosen=[say("assistant", "Cerro Rico? No: Huascarán is higher.\u2028Both are mountains.")], rejected=[say("assistant", "Snowdon.")]),
]
"""Plain chat: every message is role and text."""
CASE_17 = [
    # case 17: arguments {"x": 1}, {"y": [true, null]}, the string '{"x": 1}', content null
    pair(pair_id="tool-1", tools=TOOLS, prompt=[say("user", "Add one.")],
         chosen=[say("assistant", None, tool_calls=[call({"x": 1})]), say("tool", "2", name="add", tool_call_id="c1"), say("assistant", "Two.")],
         rejected=[say("assistant", "Eleven.")]),
    pair(pair_id="tool-2", tools=TOOLS, prompt=[say("user", "Add flags.")],
         chosen=[say("assistant", None, tool_calls=[call({"y": [True, None]})])], rejected=[say("assistant", "No flags known.")]),
    pair(pair_id="tool-3", tools=json.dumps(TOOLS), prompt=[say("user", "Add as text.")],
         chosen=[say("assistant", None, tool_calls=[call('{"x": 1}')])], rejected=[say("assistant", "Text cannot be added.")]),
]
CASE_21 = [
    pair(pair_id="007", prompt="2024-01-05", chosen="550E8400-E29B-41D4-A716-446655440000", rejected="550e8400-e29b-41d4-a716-446655440000 no"),
    pair(pair_id="7", prompt="9007199254740993", chosen="18446744073709551616", rejected="true story"),
]
"""Case 21: ids and texts that look like something else."""


def with_logps(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with losses that rise in their order, so that the rank of each is known."""
    made = copy.deepcopy(rows)
    for place, row in enumerate(made):
        row["policy_logp_chosen"] = -20.0 - place / 4
        row["ref_logp_chosen"] = -22.0 - place / 4
    return made


def round_with(made: Desk, rows: list[dict[str, Any]], name: str = "r1", about: dict[str, Any] | None = None, *, alone: bool = False) -> Round:
    """A round of the worked example's evidence whose pairs are its own and ``rows``, or ``rows`` alone."""
    document = bundle()
    tables = tables_of(document)
    tables["pairs"] = with_logps(rows) if alone else [*tables["pairs"], *with_logps(rows)]
    source = folder_of(made.workspace.root.parent / f"in-{name}", tables, about=round_of(document) | {"round_id": name} | (about or {}))
    report = ingest(source, made.workspace, created_at=None if about and "created_at" in about else CREATED, now=NOW)
    return made.workspace.round(report.digest)


def approved(made: Desk, source: Round, comment: str = "") -> Round:
    """The round, proposed by the curator and approved by the verifier."""
    made.propose(source)
    made.sign(made.prepare(source, comment=comment))
    return source


def approved_round(folder: Path, rows: list[dict[str, Any]], *, comment: str = "", **more: Any) -> tuple[Desk, Round]:
    """A desk with one approved round of these pairs."""
    made = desk(folder)
    return made, approved(made, round_with(made, rows, **more), comment)


def wanted(shape: str = "trl", **more: Any) -> Wanted:
    return Wanted(shape_named(shape), **more)


def signed_export(made: Desk, source: Round, to: Path, shape: str = "trl", **more: Any) -> Dataset:
    return export_dataset(signed_provenance(made.workspace, source, LATER), wanted(shape, **more), to)


def unsigned_export(made: Desk, source: Round, to: Path, shape: str = "trl", **more: Any) -> Dataset:
    return export_dataset(unsigned_provenance(made.workspace, source, None), wanted(shape, **more), to)


def rows_of(dataset: Dataset) -> list[dict[str, Any]]:
    """The rows of the JSON Lines file, read with Python's own parser."""
    return [json.loads(line) for line in (dataset.folder / "train.jsonl").read_bytes().split(b"\n") if line]


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
