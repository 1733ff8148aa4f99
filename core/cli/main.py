"""``countersign``: the command line, put together from one module a group of commands, with one error boundary.

Exit codes (``core/errors.py``): 0 done, 1 internal fault, 2 usage, 3 refused, 4 bad input, 5 not authorised, 6 files
differ, 7 recomputed differently, 130 interrupted, 141 nobody reads the output any more. An error goes to standard error, or
with ``--json`` to standard output as one document.
``COUNTERSIGN_DEBUG=1`` adds the traceback of an internal fault.
"""
from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from types import TracebackType
from typing import Annotated, Final, NoReturn, Self

import typer

from core.cli import (
    behaviours,
    contamination,
    decide,
    demo,
    export,
    exposure,
    grid,
    holdout,
    ingest,
    judges,
    keys,
    ledger,
    output,
    pairs,
    rollouts,
    sample,
    serve,
    sign,
    similar,
    style,
    verify,
)
from core.cli import round as round_commands
from core.errors import EXIT, CountersignError
from core.machine import machine_error
from core.settings import SETTINGS
from core.text import shortened
from core.version import ENGINE_VERSION

_GROUPS: Final = (
    ingest, pairs, style, round_commands, decide, judges, holdout, behaviours, contamination, similar, rollouts, exposure, keys, grid, sample, sign,
    verify, ledger, export, demo, serve,
)
"""Modules with ``register(app)``, in the order in which ``--help`` lists their commands."""
_JSON: Final = "--json"
_DEBUG: Final = "COUNTERSIGN_DEBUG"
_SHOWN: Final[int] = SETTINGS["text"]["label_characters"]
_INTERRUPTED: Final[int] = SETTINGS["cli"]["interrupted"]
"""Shells' own code for a command stopped by Ctrl-C; typer returns it."""
_READER_GONE: Final[int] = SETTINGS["cli"]["reader_gone"]
"""Shells' own code for a command that SIGPIPE stopped (128 + 13): what is behind the pipe has read enough."""


def _version(wanted: bool) -> None:
    if wanted:
        output.line(f"countersign {ENGINE_VERSION}")
        raise typer.Exit


def build() -> typer.Typer:
    """The application with the commands of every group."""
    app = typer.Typer(
        name="countersign", no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False,
    )

    @app.callback(help="A second person reviews one round of a self-rewarding DPO flywheel and signs it, or refuses to.")
    def _root(
        version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")] = False,
    ) -> None:
        """Options before the command."""

    for group in _GROUPS:
        group.register(app)
    return app


class Boundary:
    """The one place where an exception becomes a message and an exit code."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self.exit_code = EXIT["done"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if error is None or isinstance(error, SystemExit) or output.reader_gone(error):
            return False
        if isinstance(error, CountersignError):
            self.exit_code = error.exit_code
            output.error(error, as_json=self._as_json)
        elif isinstance(error, typer.TyperException):
            self.exit_code = EXIT["usage"]
            output.message("usage", _usage(error), self.exit_code, as_json=self._as_json)
        elif isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            self.exit_code = EXIT["usage"]
            output.message("usage", f"A name is longer than this system takes: {shortened(str(error.filename), _SHOWN)}", self.exit_code,
                           as_json=self._as_json)
        elif isinstance(error, OSError) and (trouble := machine_error(error)) is not None:
            self.exit_code = trouble.exit_code
            output.error(trouble, as_json=self._as_json)
        elif isinstance(error, (KeyboardInterrupt, typer.Abort)):
            self.interrupted()
        else:
            self.exit_code = EXIT["fault"]
            self._report_fault(error)
        return True

    def interrupted(self) -> int:
        """Report an interruption and return its code."""
        self.exit_code = _INTERRUPTED
        output.message("interrupted", "Interrupted; nothing was left half done.", self.exit_code, as_json=self._as_json)
        return self.exit_code

    def _report_fault(self, error: BaseException) -> None:
        text = f"[fault] {type(error).__name__}: {error}. This is a fault of the program; {_DEBUG}=1 shows where."
        output.message("fault", text, self.exit_code, as_json=self._as_json)
        if os.environ.get(_DEBUG) == "1":
            output.lines("".join(traceback.format_exception(error)))


def _usage(error: typer.TyperException) -> str:
    text = error.format_message()
    context = getattr(error, "ctx", None)
    if context is None or text.startswith("Usage"):
        return text
    return f"{context.get_usage()}\nError: {text}\nTry '{context.command_path} --help'."


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    with Boundary(as_json=_JSON in arguments) as boundary:
        result = typer.main.get_command(build()).main(args=list(arguments), prog_name="countersign", standalone_mode=False)
        if result == _INTERRUPTED:
            return boundary.interrupted()
        return result if isinstance(result, int) else boundary.exit_code
    return boundary.exit_code


def delivered(arguments: Sequence[str]) -> int:
    """Run one command line, see that what it printed left this process, and return its exit code. Nothing is said where the reader has
    gone: there is nobody to say it to, and ``countersign ... | head -1`` is no fault."""
    try:
        code = run(arguments)
        output.flush()
    except (OSError, SystemExit) as problem:
        if output.reader_gone(problem):
            code = _READER_GONE
        elif isinstance(problem, OSError):
            trouble = machine_error(problem)
            code = EXIT["fault"] if trouble is None else trouble.exit_code
            sys.stderr.write(f"[fault] Standard output cannot be written: {problem.strerror}.\n" if trouble is None else f"{trouble}\n")
        else:
            raise
        output.silence()
    return code


def main() -> NoReturn:
    """The console script."""
    output.prepare_streams()
    sys.exit(delivered(sys.argv[1:]))


if __name__ == "__main__":
    main()
