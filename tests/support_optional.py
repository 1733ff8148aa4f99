"""What tests/clients need beside the test environment: the extra ``clients`` of pyproject.toml."""
from __future__ import annotations

from importlib.util import find_spec
from typing import Final

NEEDED: Final = ("datasets", "trl", "transformers", "torch", "tokenizers", "mlcroissant", "yaml")
MISSING: Final = [name for name in NEEDED if find_spec(name) is None]
REASON: Final = f"tests/clients not collected: no {', '.join(MISSING)} here. .ci/clients runs them in an environment that has the extra 'clients'."
