"""The colours of charts, light and dark, from the one theme file. Admitted, rejected and held keep their hue on every chart."""
from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

THEME: Final = Path(__file__).with_name("theme.toml")


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of one theme. A state is never told by its hue alone: see the pattern and position of ``charts``."""

    admitted: str
    rejected: str
    held: str
    accent: str
    text: str
    muted: str
    line: str
    band: str
    background: str
    font: str


@cache
def palette(kind: str | None) -> Palette:
    """The palette of ``light`` or ``dark``; anything else is light, as in the theme file."""
    theme = tomllib.loads(THEME.read_text("utf-8"))["theme"]
    colours = theme["dark" if kind == "dark" else "light"]
    return Palette(
        admitted=colours["blueColor"], rejected=colours["orangeColor"], held=colours["grayColor"], accent=colours["primaryColor"],
        text=colours["textColor"], muted=colours["grayTextColor"], line=colours["borderColor"], band=colours["secondaryBackgroundColor"],
        background=colours["backgroundColor"], font=theme["font"],
    )
