"""Tests with the programs that people load an exported dataset with. They need the extra ``clients`` (torch among it), so they run
in an environment of their own: ``.ci/clients`` makes one. Elsewhere they are not collected, and the end of the run says so."""
from __future__ import annotations

import os
import tempfile

from support_optional import MISSING

collect_ignore_glob = ["test_*.py"] if MISSING else []

# nothing is looked up or kept elsewhere: set before these packages are imported
os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TRANSFORMERS_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1", WANDB_DISABLED="true")
if not MISSING:
    os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="countersign-clients-")
