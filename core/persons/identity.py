"""Ids of persons: the canonical form, and the key under which two ids are the same person.

Canonical form: outer white space off, NFKC and case folding, no hidden character, then the grammar
``[a-z0-9][a-z0-9._+-]*`` not ending in a dot, with an optional ``@domain`` (labels ``[a-z0-9-]+`` joined by dots, one
trailing dot dropped). Person key: the id without its plus-tag, then the aliases of the registry.

Only ASCII survives the grammar, so a look-alike from another script is refused rather than compared.
"""
from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Final, NoReturn

from core.errors import IdentityError
from core.settings import SETTINGS
from core.text import shortened, visible_line

_LOCAL: Final = re.compile(r"[a-z0-9][a-z0-9._+-]*(?<!\.)")
_DOMAIN: Final = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*")
_HIDDEN: Final = {
    "Cc": "a control character", "Cf": "a format character (zero-width or direction mark)", "Co": "a private-use character",
    "Cn": "an unassigned character", "Cs": "a lone surrogate", "Zl": "a line separator", "Zp": "a paragraph separator",
}
_GRAMMAR: Final = "letters a-z, digits, '.', '_', '+' and '-', beginning with a letter or digit, then optionally @domain"


def _refuse(code: str, expected: str, got: str, remedy: str) -> NoReturn:
    raise IdentityError(code, expected=expected, got=got, remedy=remedy)


def _shown(text: str) -> str:
    return repr(shortened(visible_line(text), SETTINGS["text"]["label_characters"]))


def _reject_hidden(text: str) -> None:
    for character in text:
        kind = _HIDDEN.get(unicodedata.category(character))
        if kind is not None:
            _refuse("id_hidden_character", "an id without hidden characters", f"{kind} in {_shown(text)}", "type the id afresh instead of pasting it")


def _folded(text: str) -> str:
    # case folding can undo composition, so normalise on both sides of it
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def canonical_id(value: object) -> str:
    """The canonical form of a person's id, e.g. ``" Ana@Example.org."`` -> ``"ana@example.org"``.

    Raises IdentityError: ``id_not_text`` (null, list, number), ``id_empty``, ``id_too_long``, ``id_hidden_character``
    (control, format, private, unassigned) or ``id_grammar`` (look-alikes, display names and everything else).
    """
    if not isinstance(value, str):
        _refuse("id_not_text", "an id as text", "null" if value is None else type(value).__name__, "write the id as one string")
    trimmed = value.strip()
    if not trimmed:
        _refuse("id_empty", "an id", "nothing", "name the person, for example ana@example.org")
    limit = SETTINGS["text"]["id_characters"]
    if len(trimmed) > limit:
        _refuse("id_too_long", f"at most {limit} characters", f"{len(trimmed)}", "use a shorter id")
    _reject_hidden(trimmed)
    folded = _folded(trimmed)
    _reject_hidden(folded)
    local, at, domain = folded.partition("@")
    domain = domain.removesuffix(".")
    if not _LOCAL.fullmatch(local) or (at and not _DOMAIN.fullmatch(domain)):
        _refuse("id_grammar", _GRAMMAR, _shown(trimmed), "use the bare id: no display name, no letters of other scripts, no spaces")
    return f"{local}@{domain}" if at else local


def person_key(value: object, aliases: Mapping[str, str] | None = None) -> str:
    """The key under which ids are compared: the canonical id without its plus-tag (from the first ``+`` to the end of
    the local part), then ``aliases`` (key -> key of the person who owns it). Raises IdentityError as
    :func:`canonical_id`, and ``id_grammar`` when nothing legal is left before the plus."""
    identifier = canonical_id(value)
    local, at, domain = identifier.partition("@")
    bare = local.partition("+")[0]
    if not _LOCAL.fullmatch(bare):
        _refuse("id_grammar", "an id whose part before '+' is an id as well", _shown(identifier), "use the id without the plus-tag")
    key = f"{bare}{at}{domain}"
    return key if aliases is None else aliases.get(key, key)
