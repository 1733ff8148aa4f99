"""The engine's version, stated in every receipt's statement."""
from __future__ import annotations

from typing import Final

ENGINE_VERSION: Final = "0.1.0"
