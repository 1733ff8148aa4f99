"""The bare pass that ``decide`` is measured against: read a round's text column by column from Parquet, SHA-256 of each text.

Nothing is compared, normalised or written: it is the least that an engine can do which looks at every text once.

    python benchmarks/bare_pass.py ROUND_FOLDER
"""
from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = ("prompt", "chosen", "rejected")
ROWS = 8192


def hash_column(column: pa.StringArray) -> int:
    """SHA-256 of every text of a column; returns how many bytes were hashed."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)[column.offset: column.offset + len(column) + 1].tolist()
    view, sha256 = memoryview(data), hashlib.sha256
    for start, end in itertools.pairwise(ends):
        sha256(view[start:end]).digest()
    return ends[-1] - ends[0]


def bare_pass(folder: Path) -> dict[str, float]:
    """Seconds (wall and CPU) and bytes of one pass over ``text.parquet`` of a round folder."""
    wall, cpu, size, texts = time.perf_counter(), time.process_time(), 0, 0
    with pq.ParquetFile(folder / "text.parquet", memory_map=True) as file:
        for batch in file.iter_batches(batch_size=ROWS, columns=list(COLUMNS)):
            size += sum(hash_column(batch[name]) for name in COLUMNS)
            texts += len(COLUMNS) * batch.num_rows
    return {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu, "bytes": size, "texts": texts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = bare_pass(arguments.folder)
    if arguments.json:
        print(json.dumps(found))
        return
    print(f"{found['texts']:,.0f} texts, {found['bytes'] / 1e6:,.0f} MB: {found['wall_s']:.2f} s wall, {found['cpu_s']:.2f} s CPU")


if __name__ == "__main__":
    main()
