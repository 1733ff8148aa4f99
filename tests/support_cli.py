"""Command lines as tests run them, in this process."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.cli.main import run


class Runner:
    """Runs command lines against one workspace, whatever the environment names."""

    def __init__(self, workspace: Path, capture: pytest.CaptureFixture[str], environment: pytest.MonkeyPatch) -> None:
        self.workspace, self._capture = workspace, capture
        for name in ("COUNTERSIGN_WORKSPACE", "COUNTERSIGN_DEBUG"):
            environment.delenv(name, raising=False)

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        code = run([*map(str, arguments), "--workspace", str(self.workspace)])
        captured = self._capture.readouterr()
        return code, captured.out, captured.err

    def document(self, *arguments: object) -> tuple[int, Any]:
        """Exit code and the one document that ``--json`` prints: ASCII, and nothing beside it."""
        code, out, err = self(*arguments, "--json")
        assert err == ""
        assert out.isascii()
        return code, json.loads(out)
