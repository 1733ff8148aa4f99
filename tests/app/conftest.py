"""A workspace of demo rounds in the states that a reviewer meets, made once; each test sees a copy of its own.

========== =================== ===================================================================
round      ledger              why it is here
========== =================== ===================================================================
ifeval-4o  proposed            the engine would promote it: awaits a reviewer
ifeval-qwen  not proposed      refused by the regression cap although it gains 16 points
smollm2-dpo-only  proposed     refused: canaries lost, regressions; pairs of both judges held
smollm2-rpo  rejected by ben   a signed refusal, with a comment
judges     not proposed        calibration only: incomplete
worked-example  approved       by worker-verifier-02
========== =================== ===================================================================
"""
from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from support_desk import Desk
from support_desk import desk as new_desk
from support_rounds import WORKED_EXAMPLE
from support_sheets import ROOT

from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace
from core.signing.ledger import Ledger
from dashboard.server import WORKSPACE_VARIABLE

COMMENT = "Seven items lost, and three canaries."
DEMO_TIMES = {"ifeval-4o": "17", "ifeval-qwen": "16", "smollm2-dpo-only": "10", "smollm2-rpo": "09", "judges": "05"}


@pytest.fixture(scope="session")
def demo_desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """The shared workspace; tests that write take ``room`` instead."""
    desk = new_desk(tmp_path_factory.mktemp("demo"))
    from support_signing import NOW

    digests = {name: ingest(ROOT / "data" / "rounds" / name, desk.workspace, now=NOW).digest for name in DEMO_TIMES}
    digests["worked-example"] = ingest(
        WORKED_EXAMPLE, desk.workspace, round_id="worked-example", created_at="2026-11-02T09:00:00Z", now=NOW,
    ).digest
    sources = {name: desk.workspace.round(digest) for name, digest in digests.items()}
    for name in ("worked-example", "smollm2-rpo", "smollm2-dpo-only", "ifeval-4o"):
        desk.propose(sources[name])
    desk.sign(desk.prepare(sources["worked-example"]))
    desk.sign(desk.prepare(sources["smollm2-rpo"], desk.ben, "reject", COMMENT), desk.ben)
    return desk


@pytest.fixture
def pages(demo_desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """The shared workspace, served; for tests that only read."""
    monkeypatch.setenv(WORKSPACE_VARIABLE, str(demo_desk.workspace.root))
    return demo_desk


@pytest.fixture
def own(demo_desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A copy of the workspace, served; a test may change it as it likes."""
    root = tmp_path / "workspace"
    shutil.copytree(demo_desk.workspace.root, root)
    monkeypatch.setenv(WORKSPACE_VARIABLE, str(root))
    return Desk(Workspace(root), demo_desk.curator, demo_desk.verifier, demo_desk.ben, demo_desk.eva)


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A workspace without a round, served; people are enrolled."""
    desk = new_desk(tmp_path)
    monkeypatch.setenv(WORKSPACE_VARIABLE, str(desk.workspace.root))
    return desk


@pytest.fixture
def ledger(demo_desk: Desk) -> Ledger:
    return Ledger(demo_desk.workspace.ledger_file)


@pytest.fixture
def sitting() -> Callable[[AppTest, str], AppTest]:
    """Say who sits there."""
    def choose(at: AppTest, person: str) -> AppTest:
        return at.selectbox(key="you_are").set_value(person).run()

    return choose
