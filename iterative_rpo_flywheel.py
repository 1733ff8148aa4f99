"""One-module entry: ``python -m iterative_rpo_flywheel --bundle BUNDLE.json`` prints the bundle's receipt.

The receipt (or refusal record) goes to standard output as RFC 8785 bytes and a line feed; it is what
``countersign decide BUNDLE.json --canonical`` prints. The bundle must name proposer and reviewer. Exit codes as there.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from core.cli import output
from core.cli.main import delivered


def main(arguments: Sequence[str] | None = None) -> int:
    """Decide one bundle; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m iterative_rpo_flywheel", description="Print the receipt of a one-file bundle.")
    parser.add_argument("--bundle", required=True, metavar="BUNDLE.json", help="the round as one JSON document")
    output.prepare_streams()
    return delivered(["decide", "--canonical", "--", parser.parse_args(arguments).bundle])


if __name__ == "__main__":
    sys.exit(main())
