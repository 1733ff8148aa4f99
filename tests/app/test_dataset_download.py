"""The dataset of an approved round on the Ledger page: offered by the decision that closed it, made on request, refused as the command is."""
from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from support_desk import Desk
from support_sheets import open_page
from support_sign_off import Room, make_desk, read, room_of

from core.export.shapes import SHAPES
from core.rounds.folder import Round


@pytest.fixture(scope="module")
def approved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Round]:
    made = make_desk(tmp_path_factory.mktemp("approved"))
    source = made.round()
    made.propose(source)
    made.sign(made.prepare(source))
    return made, source


@pytest.fixture
def room(approved: tuple[Desk, Round], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    return room_of(approved[0], tmp_path, monkeypatch)


def key_of(room: Room) -> str:
    return room.entries()[1].digest


def labels(at: AppTest) -> list[str]:
    return [button.label for button in at.get("download_button")]


def made(at: AppTest) -> tuple[str, zipfile.ZipFile]:
    _, name, data = at.session_state["dataset_made"]
    return name, zipfile.ZipFile(io.BytesIO(data))


def test_the_approval_offers_the_dataset_and_makes_it_when_asked(room: Room) -> None:
    at = open_page("ledger.py", entry="1")
    key = key_of(room)
    assert not at.exception and "Train on it" in read(at, f"section-dataset-{key}")
    assert list(at.selectbox(key=f"dataset-format-{key}").options) == list(SHAPES)
    assert "Download the dataset" not in labels(at)
    at = at.button(key=f"dataset-make-{key}").click().run()
    assert not at.exception and "Download the dataset" in labels(at)
    name, archive = made(at)
    assert name.startswith("worked-example-trl-") and name in read(at, "dataset-made")
    folder = name.removesuffix(".zip")
    wanted = ("train.jsonl", "train.parquet", "README.md", "sha256sums", "evidence/decision.json")
    assert {f"{folder}/{file}" for file in wanted} <= set(archive.namelist())
    assert len(archive.read(f"{folder}/train.jsonl").splitlines()) == 2
    # another choice is another dataset, not yet made
    at = at.selectbox(key=f"dataset-format-{key}").select("openai").run()
    assert "Download the dataset" not in labels(at)
    at = at.toggle(key=f"dataset-parquet-{key}").set_value(False).run().button(key=f"dataset-make-{key}").click().run()
    name, archive = made(at)
    assert name.startswith("worked-example-openai-") and f"{name.removesuffix('.zip')}/train.parquet" not in archive.namelist()
    row = json.loads(archive.read(f"{name.removesuffix('.zip')}/train.jsonl").splitlines()[0])
    assert set(row) == {"input", "preferred_output", "non_preferred_output"}


def test_a_round_whose_files_changed_is_refused_with_the_reason(room: Room, approved: tuple[Desk, Round]) -> None:
    at = open_page("ledger.py", entry="1")
    file = room.desk.workspace.round_path(approved[1].digest) / "text.parquet"
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    at = at.button(key=f"dataset-make-{key_of(room)}").click().run()
    assert not at.exception and "Download the dataset" not in labels(at)
    assert "text.parquet" in read(at, f"error-dataset-{key_of(room)}")


def test_a_rejection_offers_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = make_desk(tmp_path / "desk")
    source = desk.round()
    desk.propose(source)
    desk.sign(desk.prepare(source, choice="reject", comment="No."))
    room_of(desk, tmp_path, monkeypatch)
    at = open_page("ledger.py", entry="1")
    assert not at.exception and "Make the dataset" not in [button.label for button in at.button]


def test_a_line_that_counts_for_nothing_offers_none(room: Room) -> None:
    room.desk.write_registry(room.desk.curator, room.desk.ben)
    at = open_page("ledger.py", entry="1")
    assert not at.exception and "Make the dataset" not in [button.label for button in at.button]
