"""The only place of the command line that prints.

On a terminal tables are drawn by rich; piped, they are aligned text without colour, width limit or truncation. Every
string passes ``core.text.visible`` first, and markup is off, so that text from a round can neither move the cursor nor
colour itself. ``--json`` prints one JSON document in ASCII to standard output, and nothing else.
"""
from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import rich.console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from core.errors import CountersignError
from core.files import naming
from core.text import visible, visible_line

_OUTPUT: Final = Path("standard output")
_INDENT: Final = "  "
_GAP: Final = "  "
STYLES: Final = {"pass": "green", "refuse": "red", "held": "yellow", "dim": "dim", "strong": "bold"}


@dataclass(frozen=True, slots=True)
class Styled:
    """A text with one of ``STYLES``; piped output drops the style, so the words must say it too."""

    text: str
    style: str


Cell = str | int | Styled


class Console(rich.console.Console):
    """Hands a closed pipe on: rich would end the program with the code of an internal fault."""

    def on_broken_pipe(self) -> None:
        raise


def _console(*, error: bool = False) -> Console:
    return Console(file=sys.stderr if error else sys.stdout, markup=False, highlight=False, emoji=False, soft_wrap=True)


def _plain(cell: Cell) -> str:
    return visible_line(cell.text if isinstance(cell, Styled) else str(cell))


def _rich(cell: Cell) -> Text:
    return Text(_plain(cell), style=STYLES[cell.style] if isinstance(cell, Styled) else "")


def prepare_streams() -> None:
    """Let a terminal that cannot show a character get an escape of it instead of an error. A stream that was closed before we began
    (``>&-``) is nobody's to read: what would go there goes nowhere."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def reader_gone(problem: BaseException | None) -> bool:
    """Whether an exception says that whoever read our output has stopped (``countersign ... | head -1``). The command-line library
    makes an exit of it, with the original behind."""
    if isinstance(problem, SystemExit):
        problem = problem.__context__
    return isinstance(problem, OSError) and problem.errno == errno.EPIPE


@naming(_OUTPUT)
def flush() -> None:
    """Send what is still held, so that a reader who has gone, or a full disk, is met here and not while Python shuts down."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def silence() -> None:
    """Send what a broken stream still holds nowhere, as the documentation of Python's ``signal`` has it: Python would try once more at
    its end, and end with a code of its own."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError:
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, stream.fileno())
            os.close(devnull)


@naming(_OUTPUT)
def document(value: Any) -> None:
    """One JSON document on standard output: what ``--json`` prints."""
    sys.stdout.write(json.dumps(value, ensure_ascii=True, indent=_INDENT, allow_nan=False) + "\n")


@naming(_OUTPUT)
def raw(data: bytes) -> None:
    """Bytes as they are on standard output: for documents that are canonical or signed. A terminal that would have to show a
    hidden character among them gets marks in their place, and is told so."""
    shown = data
    if sys.stdout.isatty():
        shown = visible(data.decode("utf-8", "backslashreplace")).encode()
    sys.stdout.flush()
    sys.stdout.buffer.write(shown)
    sys.stdout.buffer.flush()
    if shown != data:
        note("Hidden characters are shown as marks on a terminal: pipe the output for the exact bytes.")


@naming(_OUTPUT)
def line(text: str = "", style: str | None = None) -> None:
    """One line on standard output. A line feed in it becomes a mark: what a name or a comment says is never a line of ours."""
    _console().print(Text(visible_line(text), style=STYLES[style] if style is not None else ""))


def note(text: str) -> None:
    """A remark on standard error, so that it never mixes with what is piped; one line, as :func:`line`."""
    _console(error=True).print(Text(visible_line(text)))


def lines(text: str) -> None:
    """Text of the program's own making on standard error, line feeds and all: a usage, a traceback."""
    _console(error=True).print(Text(visible(text)))


@naming(_OUTPUT)
def table(columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, title: str | None = None, right: Iterable[str] = ()) -> None:
    """A table on standard output; ``right`` names the columns that are aligned right (figures)."""
    rows, right = [list(row) for row in rows], frozenset(right)
    if title is not None:
        line(title, "strong")
    console = _console()
    if console.is_terminal:
        drawn = Table(box=None, pad_edge=False, header_style="bold")
        for name in columns:
            drawn.add_column(name, justify="right" if name in right else "left", overflow="fold")
        for row in rows:
            drawn.add_row(*(_rich(cell) for cell in row))
        console.print(drawn, soft_wrap=False)
        return
    cells = [list(columns), *([_plain(cell) for cell in row] for row in rows)]
    widths = [max(len(row[index]) for row in cells) for index in range(len(columns))]
    for row in cells:
        padded = (text.rjust(width) if name in right else text.ljust(width) for text, width, name in zip(row, widths, columns, strict=True))
        sys.stdout.write(_GAP.join(padded).rstrip() + "\n")


@naming(_OUTPUT)
def facts(rows: Iterable[tuple[str, Cell]]) -> None:
    """Names and values, one a line."""
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    console = _console()
    for name, value in rows:
        console.print(Text(name.ljust(width), style="dim") + Text(_GAP) + _rich(value))


def error(problem: CountersignError, *, as_json: bool) -> None:
    """An error: on standard error, or with ``--json`` as one document on standard output."""
    document(problem.as_dict()) if as_json else note(str(problem))


def message(code: str, text: str, exit_code: int, *, as_json: bool) -> None:
    """A fault that is none of ours to explain (usage, an interruption, a bug), in the same two forms."""
    document({"error": code, "message": text, "exit_code": exit_code}) if as_json else lines(text)


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Callable[[str, int, int | None], None]]:
    """A progress bar on standard error while the block runs: call it with (what, done, in all or None). Nothing is drawn
    where standard error is no terminal, or when ``quiet``."""
    console = _console(error=True)
    if quiet or not console.is_terminal:
        yield lambda what, done, total: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(visible_line(what), total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield show
