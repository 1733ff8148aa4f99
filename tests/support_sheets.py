"""Reading the pages in AppTest: what the sheets say, which views their links open."""
from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from streamlit.testing.v1 import AppTest

from dashboard import blocks, navigation

ROOT = Path(__file__).resolve().parents[1]


def open_page(file: str, **params: str) -> AppTest:
    """A page of the application with query parameters, run once."""
    at = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60)
    for name, value in params.items():
        at.query_params[name] = value
    return at.switch_page(str(ROOT / "pages" / file)).run()


def sheets(at: AppTest) -> dict[str, list[dict[str, Any]]]:
    """Blocks of every sheet on the page, by the key it was drawn under."""
    drawn = [node for node in at.get("bidi_component") if node.proto.component_name == "countersign_sheet"]
    return {node.key.removeprefix("sheet-"): json.loads(node.proto.json)["blocks"] for node in drawn}


def said(at: AppTest, key: str | None = None) -> str:
    """The text of one sheet, or of all of them."""
    found = sheets(at)
    return "\n".join(_words(content) for content in ([found[key]] if key is not None else found.values()))


def _words(content: list[dict[str, Any]]) -> str:
    return "\n".join(" ".join(line.split()) for line in blocks.plain(content).split("\n"))


def links(at: AppTest, key: str | None = None) -> dict[str, tuple[str, dict[str, str]]]:
    """Links by label: (page, parameters). The last one where a label stands more than once."""
    found = sheets(at)
    chosen = found.values() if key is None else [found[key]]
    return {span["t"]: (span["page"], span["params"]) for content in chosen for span in _spans(content) if span["k"] == "link"}


def table(at: AppTest, key: str, name: str | None = None) -> list[list[str]]:
    """The cells of the first table of a sheet, or of the one with this name, as text."""
    block = next(block for block in sheets(at)[key] if block["k"] == "table" and name in (None, block["id"]))
    return [[_words([{"k": "cell", "spans": cell["spans"]}]) for cell in row["cells"]] for row in block["rows"]]


def follow(at: AppTest, label: str, key: str | None = None) -> AppTest:
    """Open the view a link leads to, as a fresh visit to its address."""
    page, params = links(at, key)[label]
    kept = {"round": at.query_params["round"]} if "round" in at.query_params else {}
    return open_page(navigation.BY_KEY[page].file, **kept | params)


def addressed(href: str) -> dict[str, str]:
    """The parameters in a link's address."""
    return dict(parse_qsl(href.partition("?")[2]))


def _spans(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "k" in node:
            yield node
        for value in node.values():
            yield from _spans(value)
    elif isinstance(node, list):
        for item in node:
            yield from _spans(item)
