"""``countersign export`` as people type it."""
from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support_desk import Desk
from support_export import CHAT, approved_round, round_with
from support_signing import registry_bytes

from core.cli.main import run
from core.export.shapes import SHAPES
from core.rounds.folder import Round


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Round]:
    desk, source = approved_round(tmp_path_factory.mktemp("desk"), CHAT)
    round_with(desk, CHAT, "r2")
    return desk, source


@pytest.fixture(autouse=True)
def place(made: tuple[Desk, Round], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COUNTERSIGN_WORKSPACE", str(made[0].workspace.root))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = run([str(item) for item in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_an_approved_round_becomes_a_folder(made: tuple[Desk, Round], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = call(capsys, "export", "r1", "--to", "pairs", "--parquet", "--license", "cc-by-4.0", "--language", "en")
    assert (code, err) == (0, "")
    assert out.startswith("4 pairs for TRL (trl)\n") and "worker-verifier-02" in out and made[1].digest in out
    assert len((tmp_path / "pairs" / "train.jsonl").read_bytes().splitlines()) == 4
    # the same again is refused, and the folder stays
    code, out, err = call(capsys, "export", "r1", "--to", "pairs")
    assert (code, out) == (4, "") and "[name_taken]" in err


def test_json_says_what_was_written(made: tuple[Desk, Round], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = call(capsys, "export", "r1", "--to", "d", "--format", "llamafactory-alpaca", "--with", "pair-ids", "--json")
    document: dict[str, Any] = json.loads(out)
    assert code == 0
    assert (document["rows"], document["signed"], document["format"]) == (4, True, "llamafactory-alpaca")
    assert document["approved_by"] == ["worker-verifier-02"]
    assert document["round_digest"] == made[1].digest
    assert set(document["files"]) == {path.relative_to(tmp_path / "d").as_posix() for path in (tmp_path / "d").rglob("*") if path.is_file()}


def test_a_round_without_an_approval_exits_3(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = call(capsys, "export", "r2", "--to", "d")
    assert (code, out) == (3, "") and "[not_approved]" in err and "--unsigned" in err
    assert not (tmp_path / "d").exists()


def test_unsigned_says_so_last(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "export", "r2", "--to", "d", "--unsigned")
    assert code == 0 and out.splitlines()[-1].startswith("Unsigned: no person approved these pairs")
    assert "none: unsigned" in out


@pytest.mark.parametrize("arguments", [
    ("--turns", "last"), ("--with", "everything"), ("--license", "mit\nlanguage: en"), ("--license", ""), ("--language", "English!"),
    ("--title", " "), ("--title", "x" * 81), ("--grid", "grid.json"),
])
def test_options_that_say_nothing_known_are_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, str]) -> None:
    code, _, err = call(capsys, "export", "r1", "--to", "d", *arguments)
    assert code == 2 and arguments[0] in err and not (tmp_path / "d").exists()


def test_an_unknown_format_names_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "export", "r1", "--to", "d", "--format", "xtuner")
    assert code == 2 and all(name in err for name in SHAPES)


def test_a_registry_without_the_reviewer_is_no_approval(made: tuple[Desk, Round], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    desk, _ = made
    file = desk.workspace.registry_file
    before = file.read_bytes()
    try:
        file.write_bytes(registry_bytes(desk.curator, desk.ben))
        code, out, _ = call(capsys, "export", "r1", "--to", "d")
    finally:
        file.write_bytes(before)
    assert (code, out) == (3, "") and not (tmp_path / "d").exists()


def test_a_grid_of_ones_own_goes_with_unsigned(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from core.grid import DEFAULT_GRID_PATH

    grid = json.loads(DEFAULT_GRID_PATH.read_text("utf-8"))
    grid["name"], grid["keys"]["dpo_beta"]["value"] = "mine", "0.2"
    (tmp_path / "grid.json").write_text(json.dumps(grid), "utf-8")
    code, _, _ = call(capsys, "export", "r2", "--to", "d", "--unsigned", "--grid", "grid.json")
    recipe = json.loads((tmp_path / "d" / "training-recipe.json").read_text("utf-8"))
    assert code == 0 and (recipe["objective"]["beta"], recipe["grid"]["name"]) == ("0.2", "mine")
    assert recipe["trainers"]["trl"]["settings"]["beta"] == 0.2


@pytest.mark.parametrize("inside", [
    "rounds/pairs", "ledger/evidence/pairs", "assessments/x", "keys/pairs", "prepared/pairs", "rounds/../rounds/pairs",
])
def test_a_dataset_is_not_written_among_the_workspaces_own_files(
    made: tuple[Desk, Round], capsys: pytest.CaptureFixture[str], inside: str,
) -> None:
    root = made[0].workspace.root
    before = sorted(root.rglob("*"))
    code, out, err = call(capsys, "export", "r1", "--to", root / inside)
    assert (code, out) == (4, "") and "place_is_kept" in err
    assert sorted(root.rglob("*")) == before


def test_a_dataset_may_lie_in_the_workspace_beside_them(made: tuple[Desk, Round], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    root = made[0].workspace.root
    assert call(capsys, "export", "r1", "--to", root / "pairs")[0] == 0
    shutil.rmtree(root / "pairs")


def test_a_place_that_is_taken_is_told_before_anything_is_verified(
    made: tuple[Desk, Round], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("verified first")

    monkeypatch.setattr("core.cli.export.signed_provenance", never)
    (tmp_path / "pairs").mkdir()
    code, _, err = call(capsys, "export", "r1", "--to", "pairs")
    assert code == 4 and "[name_taken]" in err
