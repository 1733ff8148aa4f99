"""Roles that are none of a chat's usual ones are told, with the place of the first; no pair is dropped for them."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_formats import assistant, read, texts, user
from support_rounds import bundle, bundle_file, ingested, pair, pairs_round

from core.rounds.ingest import IngestReport

YES, NO = [assistant("Yes.")], [assistant("No.")]


def told(report: IngestReport) -> list[str]:
    assert all(item.severity == "warning" for item in report.notes if item.code == "unknown_role")
    return [item.text.split(":")[0] for item in report.notes if item.code == "unknown_role"]


def said(role: str, content: str = "Well?") -> dict[str, Any]:
    return {"role": role, "content": content}


@pytest.mark.parametrize("form", ["jsonl", "json", "parquet"])
def test_unusual_roles_of_our_own_tables_are_told_with_their_place(tmp_path: Path, form: str) -> None:
    rows = [
        pair(pair_id="a", prompt=[user("Well?")], chosen=YES, rejected=NO),
        pair(pair_id="b", prompt=[user("Well?"), said("critic")], chosen=YES, rejected=NO),
        pair(pair_id="c", prompt=[said("critic"), said("critic"), said("developer"), user("a")], chosen=[said("human"), *YES], rejected=NO),
        pair(pair_id="d", prompt=[user("b")], chosen=YES, rejected=NO),
    ]
    source, report = pairs_round(tmp_path, rows, form)
    assert report.quarantined == 0 and len(texts(source)) == 4
    assert told(report) == [
        f'messages of the role "critic" in 2 pairs, first at pairs.{form}, line 2, field prompt[1].role',
        f'messages of the role "human" in 1 pair, first at pairs.{form}, line 3, field chosen[0].role',
    ]


@pytest.mark.parametrize("name", ["trl", "openrlhf"])
def test_unusual_roles_of_foreign_rows_are_told(tmp_path: Path, name: str) -> None:
    rows = [{"prompt": [said("human")], "chosen": YES, "rejected": NO}, {"prompt": [user("a"), said("function", "5")], "chosen": YES, "rejected": NO}]
    _, report = read(tmp_path, "a.jsonl", rows, name, prompt_key="prompt") if name == "openrlhf" else read(tmp_path, "a.jsonl", rows, name)
    assert told(report) == ['messages of the role "human" in 1 pair, first at a.jsonl, line 1, field prompt[0].role',
                            'messages of the role "function" in 1 pair, first at a.jsonl, line 2, field prompt[1].role']


def test_a_bundle_names_its_own_place(tmp_path: Path) -> None:
    document = bundle()
    document["verified_candidates"][1] |= {"prompt": [said("human")], "chosen_verified": YES, "rejected_tombstone": NO}
    _, report = ingested(tmp_path, bundle_file(tmp_path, document))
    assert told(report) == ['messages of the role "human" in 1 pair, first at round-07.json, field verified_candidates[1].prompt[0].role']


def test_what_somebody_said_or_an_argument_is_no_role(tmp_path: Path) -> None:
    """Arguments may have a member role, and a text may spell one."""
    call = assistant('{"role":"critic"}', tool_calls=[{"type": "function", "function": {"name": "f", "arguments": {"role": "critic"}}}])
    _, report = pairs_round(tmp_path, [pair(prompt=[user('"role":"critic"')], chosen=[call], rejected=NO)])
    assert told(report) == []


def test_many_roles_are_counted(tmp_path: Path) -> None:
    # settings, display.named_ids: 5 are named
    rows = [pair(pair_id=f"p{number}", prompt=[said(f"role-{number}"), user("a")], chosen=YES, rejected=NO) for number in range(8)]
    _, report = pairs_round(tmp_path, rows)
    assert len(told(report)) == 6 and told(report)[-1] == "messages of more such roles"
    assert [item.text for item in report.notes if item.code == "unknown_role"][-1] == "messages of more such roles: 3 pairs"
