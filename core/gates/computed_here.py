"""Assessments that this process computed itself: what no file of the workspace can change.

An assessment is a pure function of (round, grid, code), so one kept under these three digests is as good as another run of
the engine over a round whose files have their digests. Only documents are kept (a few kilobytes each), and only the last ones.
"""
from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final

from core.settings import SETTINGS

Key = tuple[str, str, str]
"""Round digest, grid digest, code digest."""

_LIMIT: Final[int] = SETTINGS["storage"]["computed_documents"]
_documents: OrderedDict[Key, bytes] = OrderedDict()
_lock = Lock()


def remember(key: Key, document: bytes) -> None:
    """Keep the RFC 8785 bytes of a document that the engine has just computed, in this process."""
    with _lock:
        _documents[key] = document
        _documents.move_to_end(key)
        while len(_documents) > _LIMIT:
            _documents.popitem(last=False)


def recall(key: Key) -> bytes | None:
    """The bytes that this process computed under these digests, or None."""
    with _lock:
        return _documents.get(key)


def forget() -> None:
    """Drop all of them: the next confirmation computes again."""
    with _lock:
        _documents.clear()
