"""``countersign demo``: what it puts into a workspace, that a second start changes nothing, and that it serves on loopback only."""
from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support_processes import interruptible

from core.cli.demo_workspace import MARK, PROPOSER, REVIEWER, DemoIdentity, DemoRound, demo_identities, demo_sources, load_demo, new_passphrase
from core.cli.main import run
from core.errors import EXIT, RoundError, WorkspaceError
from core.persons.registry import Registry
from core.rounds.workspace import Workspace
from core.signing.keys import FileSigner
from core.signing.ledger import Ledger
from core.signing.signoff import prepare, sign_and_append
from core.signing.status import State

NAMES = ["worked-example", "judges", "smollm2-rpo", "smollm2-dpo-only", "ifeval-qwen", "ifeval-4o"]
NOW = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)


def _quiet(what: str, done: int, total: int | None) -> None:
    """Progress that nobody looks at."""


def _state(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, list[DemoRound], list[DemoIdentity]]]:
    workspace = Workspace.open(tmp_path_factory.mktemp("demo") / "workspace", create=True)
    yield workspace, *load_demo(workspace, NOW, _quiet)


def _copy(loaded: tuple[Workspace, list[DemoRound], list[DemoIdentity]], tmp_path: Path) -> Workspace:
    shutil.copytree(loaded[0].root, tmp_path / "workspace")
    return Workspace.open(tmp_path / "workspace")


def test_six_rounds_and_every_complete_one_is_proposed(loaded: tuple[Workspace, list[DemoRound], list[DemoIdentity]]) -> None:
    workspace, rounds, _ = loaded
    assert [one.source.manifest.round_id for one in rounds] == NAMES
    assert {one.source.manifest.round_id: one.state for one in rounds} == {
        name: State.NOT_PROPOSED if name == "judges" else State.PROPOSED for name in NAMES
    }
    entries = Ledger(workspace.ledger_file).read().entries
    assert [(entry.kind, entry.statement.signer) for entry in entries] == [("proposal", PROPOSER)] * 5
    # every round is assessed, so that no page has to compute first
    assert {path.name for path in workspace.assessments_dir.iterdir()} == {one.source.digest for one in rounds}


def test_identities_are_marked_and_their_secrets_readable_by_the_owner_alone(loaded: tuple[Workspace, list[DemoRound], list[DemoIdentity]]) -> None:
    workspace, _, identities = loaded
    assert [(one.id, one.role) for one in identities] == [(PROPOSER, "proposer"), (REVIEWER, "reviewer")]
    registry = Registry.load(workspace.registry_file)
    for one in identities:
        person = registry.find(one.id)
        assert person is not None
        assert person.roles == {one.role}
        assert FileSigner.open(one.key_file, one.passphrase).public.keyid == person.keys[0].keyid
        assert stat.S_IMODE(one.key_file.stat().st_mode) == 0o600
        assert one.key_file.parent == workspace.keys_dir
    assert MARK.startswith("DEMO")
    assert workspace.registry_file.read_text("utf-8").count(f'note = "{MARK}"') == 2
    document = json.loads((workspace.root / "demo.json").read_bytes())
    assert {item["id"]: item["passphrase"] for item in document["persons"]} == {one.id: one.passphrase for one in identities}
    assert document["note"] == MARK
    assert stat.S_IMODE((workspace.root / "demo.json").stat().st_mode) == 0o600


def test_a_second_start_changes_nothing(loaded: tuple[Workspace, list[DemoRound], list[DemoIdentity]], tmp_path: Path) -> None:
    workspace = _copy(loaded, tmp_path)
    before = _state(workspace.root)
    rounds, identities = load_demo(workspace, NOW + timedelta(days=1), _quiet)
    assert _state(workspace.root) == before
    assert [one.source.digest for one in rounds] == [one.source.digest for one in loaded[1]]
    assert [one.passphrase for one in identities] == [one.passphrase for one in loaded[2]]


def test_the_reviewer_can_sign_the_round_to_sign(loaded: tuple[Workspace, list[DemoRound], list[DemoIdentity]], tmp_path: Path) -> None:
    workspace = _copy(loaded, tmp_path)
    rounds, identities = load_demo(workspace, NOW, _quiet)
    chosen, registry = rounds[-1], Registry.load(workspace.registry_file)
    prepared = prepare(workspace, chosen.source, chosen.assessment, REVIEWER, "approve", "", registry, NOW)
    reviewer = next(one for one in identities if one.id == REVIEWER)
    sign_and_append(workspace, prepared.digest, FileSigner.open(reviewer.key_file, reviewer.passphrase), registry, NOW)
    assert load_demo(workspace, NOW, _quiet)[0][-1].state is State.APPROVED


def test_a_start_that_was_cut_short_is_finished(tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    first = demo_identities(workspace, NOW)
    keyids = {one.id: FileSigner.open(one.key_file, one.passphrase).public.keyid for one in first}
    # as if it had ended after the first key: the other key and the registry are missing
    workspace.registry_file.unlink()
    first[1].key_file.unlink()
    second = demo_identities(workspace, NOW)
    assert [one.passphrase for one in second] == [one.passphrase for one in first]
    registry = Registry.load(workspace.registry_file)
    found = {person.id: person.keys[0].keyid for person in registry.persons}
    assert found[PROPOSER] == keyids[PROPOSER]
    assert found[REVIEWER] == FileSigner.open(second[1].key_file, second[1].passphrase).public.keyid


def test_a_workspace_with_real_persons_is_left_alone(tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    workspace.registry_file.write_text("registry_version = 1\n")
    with pytest.raises(WorkspaceError) as caught:
        load_demo(workspace, NOW, _quiet)
    assert caught.value.code == "not_a_demo_workspace"
    assert not (workspace.root / "demo.json").exists()
    assert list(workspace.keys_dir.iterdir()) == list(workspace.rounds_dir.iterdir()) == []


@pytest.mark.parametrize("text", ["[]", "{}", '{"persons": [{"id": "worker-curator-01", "passphrase": 7}]}', "{"])
def test_a_broken_demo_file_is_refused(tmp_path: Path, text: str) -> None:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    (workspace.root / "demo.json").write_text(text)
    with pytest.raises(WorkspaceError) as caught:
        demo_identities(workspace, NOW)
    assert caught.value.where is not None
    assert caught.value.where.file == "demo.json"


def test_missing_demo_rounds_are_said_clearly(tmp_path: Path) -> None:
    with pytest.raises(RoundError) as caught:
        demo_sources(tmp_path)
    assert caught.value.code == "demo_rounds_missing"
    assert "clone" in str(caught.value)


def test_passphrases_are_long_and_never_the_same() -> None:
    made = {new_passphrase() for _ in range(100)}
    assert len(made) == 100
    # five groups of four out of 31 characters: 31^20, about 99 bits
    assert all(re.fullmatch(r"([a-z2-9]{4}-){4}[a-z2-9]{4}", passphrase) for passphrase in made)


def test_the_command_prints_what_it_made(
    loaded: tuple[Workspace, list[DemoRound], list[DemoIdentity]], tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    workspace = _copy(loaded, tmp_path)
    assert run(["demo", "--load-only", "--workspace", str(workspace.root)]) == EXIT["done"]
    said = capsys.readouterr().out
    for one in loaded[2]:
        assert one.passphrase in said
    assert all(name in said for name in NAMES)
    assert said.count("composite, for demonstration") == 2
    assert "DEMO identities" in said


def test_a_port_in_use_is_said_before_anything_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("localhost", 0))
        other.listen()
        port = other.getsockname()[1]
        assert run(["demo", "--port", str(port), "--no-browser", "--workspace", str(tmp_path / "workspace")]) == EXIT["usage"]
    assert f"port_in_use] expected port {port} to be free" in capsys.readouterr().err
    assert not (tmp_path / "workspace").exists()


def test_it_serves_on_loopback_until_interrupted(loaded: tuple[Workspace, list[DemoRound], list[DemoIdentity]], tmp_path: Path) -> None:
    workspace = _copy(loaded, tmp_path)
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "core.cli.main", "demo", "--port", str(port), "--no-browser", "--workspace", str(workspace.root)]
    demo = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, preexec_fn=interruptible)
    try:
        assert demo.stdout is not None
        url = next((line.removeprefix("Dashboard: ").strip() for line in demo.stdout if line.startswith("Dashboard: ")), None)
        assert url == f"http://localhost:{port}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            assert answer.status == 200
            assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
        demo.send_signal(signal.SIGINT)
        _, errors = demo.communicate(timeout=30)
        assert (demo.returncode, errors) == (EXIT["done"], "")
    finally:
        demo.terminate()
        demo.wait(30)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, timeout=5)
