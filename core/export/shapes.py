"""Every shape by its name: what ``--format`` may say."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from core.errors import ExportError
from core.export import axolotl, llamafactory, openai, swift, trl
from core.export.shape import Shape

SHAPES: Final[Mapping[str, Shape]] = {
    shape.name: shape for module in (trl, llamafactory, swift, axolotl, openai) for shape in module.SHAPES
}


def shape_named(name: str) -> Shape:
    """The shape of this name. Raises ExportError ``unknown_format``."""
    if name not in SHAPES:
        raise ExportError("unknown_format", expected=f"one of {', '.join(SHAPES)}", got=repr(name), remedy="choose a format")
    return SHAPES[name]
