"""Measures what the README of this folder claims, in one run: ingest, decide against the bare pass, memory, and the page.

Every step is a process of its own, started as a user starts it, so its CPU time and peak memory are the operating system's.

    python benchmarks/run.py --pairs 1000000
"""
from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

COUNTERSIGN = (sys.executable, "-m", "core.cli.main")
REFUSED = 3


@dataclass(frozen=True)
class Step:
    """One process: seconds on the wall and on the CPU, peak resident memory, and what it printed."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    output: str


def run(*command: str, allowed: tuple[int, ...] = (0,)) -> Step:
    """Run a command from the repository root and take its resource usage from the kernel."""
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=HERE.parent, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode()
    if process.returncode not in allowed:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}\n{text}")
    return Step(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text)


def engine(pairs: int, folder: Path) -> dict[str, Any]:
    """Generate, ingest, bare pass, decide. Returns figures by name."""
    source, workspace = folder / "input", folder / "workspace"
    print(f"generating {pairs:,} pairs ...", flush=True)
    run(sys.executable, str(HERE / "make_round.py"), str(source), "--pairs", str(pairs))
    ingest = run(*COUNTERSIGN, "ingest", str(source), "--workspace", str(workspace), "--json")
    (stored,) = (workspace / "rounds").iterdir()
    bare = min((run(sys.executable, str(HERE / "bare_pass.py"), str(stored), "--json") for _ in range(2)), key=lambda step: step.wall_s)
    inner = json.loads(bare.output)
    decide = run(*COUNTERSIGN, "decide", stored.name, "--workspace", str(workspace), "--json", allowed=(0, REFUSED))
    # as text: --json computes again, since programs act on it
    again = run(*COUNTERSIGN, "decide", stored.name, "--workspace", str(workspace), allowed=(0, REFUSED))
    return {
        "pairs": pairs, "text_mb": inner["bytes"] / 1e6, "round": f"benchmark-{pairs}", "ingest": ingest, "bare": bare,
        "bare_pass_s": inner["wall_s"], "bare_pass_cpu_s": inner["cpu_s"], "decide": decide, "decide_stored": again,
        "ratio_wall": decide.wall_s / inner["wall_s"], "ratio_cpu": decide.cpu_s / inner["cpu_s"],
    }


def machine() -> str:
    """Processor, cores and Python of this machine."""
    info = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.is_file() else None
    return f"{model.group(1) if model else platform.processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def engine_rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    """(figure, value) rows of the engine."""
    rows = [
        ("machine", machine()), ("pairs", f"{found['pairs']:,} ({found['text_mb']:,.0f} MB of text)"),
        ("bare pass: Parquet read and SHA-256", f"{found['bare_pass_s']:.1f} s wall, {found['bare_pass_cpu_s']:.1f} s CPU"),
    ]
    for name in ("ingest", "decide", "decide_stored"):
        step = found[name]
        label = {"decide_stored": "decide again, from the stored assessment"}.get(name, name)
        rows.append((label, f"{step.wall_s:.1f} s wall, {step.cpu_s:.1f} s CPU, peak memory {step.peak_mb:,.0f} MB"))
    rows.append(("decide / bare pass", f"{found['ratio_wall']:.1f} times the wall time, {found['ratio_cpu']:.1f} times the CPU time"))
    return rows


def page_rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    """(figure, value) rows of the Curation page, where it was measured."""
    steps = (("first_render", "Curation page, first render"), ("refresh", "refresh after a brush"), ("reload", "reload, a new session"))
    return [
        (label, f"{found[f'{name}_s']:.2f} s, {found[f'{name}_bytes'] / 1e3:,.0f} kB over the WebSocket")
        for name, label in steps if f"{name}_s" in found
    ]


def show(rows: list[tuple[str, str]]) -> None:
    print("\n".join(f"{name:<44}{value}" for name, value in rows), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="keep the round and the workspace here (else a temporary folder)")
    parser.add_argument("--no-page", action="store_true", help="leave Chromium out")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        found = engine(arguments.pairs, folder)
        show(engine_rows(found))
        if not arguments.no_page:
            from page import measure

            found |= measure(folder / "workspace", found["round"], folder / "home")
        show(page_rows(found))
        if arguments.json:
            plain = {name: asdict(value) | {"output": None} if isinstance(value, Step) else value for name, value in found.items()}
            arguments.json.write_text(json.dumps(plain, indent=1), "utf-8")


if __name__ == "__main__":
    main()
