"""A dataset as one zip file, for a download: always the same bytes for the same dataset (order, times, no compression)."""
from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from core.export.beside import Wanted
from core.export.dataset import Dataset, export_dataset
from core.export.provenance import Provenance
from core.settings import SETTINGS
from core.signing.keys import slug

_SHOWN: Final[int] = SETTINGS["display"]["digest_characters"]


def dataset_name(provenance: Provenance, wanted: Wanted) -> str:
    """A name made of ``a-z0-9-``: the round, the format, and the beginning of the digest of the admitted pairs' list."""
    standing = "" if provenance.signed else "-unsigned"
    return f"{slug(provenance.source.manifest.round_id)}-{wanted.shape.name}{standing}-{provenance.admitted_sha256[:_SHOWN]}"


def dataset_zip(provenance: Provenance, wanted: Wanted) -> tuple[str, bytes]:
    """File name and bytes of the zip; everything in it lies in one folder of that name. Raises what ``export_dataset`` raises."""
    name = dataset_name(provenance, wanted)
    with tempfile.TemporaryDirectory(prefix="countersign-") as place:
        return f"{name}.zip", _zipped(name, export_dataset(provenance, wanted, Path(place) / name))


def _zipped(name: str, dataset: Dataset) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for file in dataset.files:
            archive.writestr(zipfile.ZipInfo(f"{name}/{file}"), (dataset.folder / file).read_bytes())  # the default time is 1980
    return buffer.getvalue()
