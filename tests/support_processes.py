"""Processes that tests start and interrupt."""
from __future__ import annotations

import signal


def interruptible() -> None:
    """For ``preexec_fn``: let Ctrl-C end the process, also where the shell that started the tests in its background has it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
