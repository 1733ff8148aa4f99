"""``reading_notes`` of a stored round.json: what the readers remarked while they read declared foreign files.

Which coercion was applied how often, which texts of a row were not used, which grades are doubtful: no file of the round tells it afterwards,
and the reviewer has to see it as the proposer did. Stored only beside ``sources`` and only where there is something to say; a proposer cannot
write the key.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from core.rounds.note import SEVERITIES, Note
from core.rounds.strict import Reader, described
from core.settings import SETTINGS
from core.text import shortened

KEY: Final = "reading_notes"
_KEYS: Final = ("severity", "code", "text")
_TEXT: Final = SETTINGS["text"]


def storable(notes: Sequence[Note]) -> tuple[Note, ...]:
    """The remarks as they are stored, each once, in their order; a text that is too long to be read is shortened."""
    return tuple(dict.fromkeys(Note(note.code, shortened(note.text, _TEXT["raw_characters"]), note.severity) for note in notes))


def read_notes(round_json: Reader) -> tuple[Note, ...]:
    """``reading_notes`` of a stored round.json, () where it has none. Raises RoundError naming the place."""
    if KEY not in round_json.value:
        return ()
    entries = round_json.value[KEY]
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        round_json.refuse(KEY, "wrong_type", "a list of remarks, or no such key", described(entries), "ingest the round again")
    return tuple(_note(entry, f"{KEY}[{position}]", round_json.file) for position, entry in enumerate(entries))


def _note(entry: dict[str, Any], place: str, file: str) -> Note:
    source = Reader(entry, place, file)
    source.keys(_KEYS, _KEYS)
    return Note(
        source.text("code", limit=_TEXT["id_characters"]), source.text("text", limit=_TEXT["note_characters"]),
        source.choice("severity", SEVERITIES),
    )
