"""Reading ``reviewers.toml`` strictly: exact fields, exact types, ids in their grammar, no weak key.

What one person may not share with another is checked in ``registry.py``; here each table stands alone.
"""
from __future__ import annotations

import difflib
import tomllib
from datetime import datetime, timedelta
from typing import Any, Final, NoReturn

from core.canonical import decode_utf8
from core.errors import IdentityError, RegistryError, Where
from core.persons.identity import canonical_id, person_key
from core.persons.person import ROLES, Person, RegisteredKey
from core.persons.publickey import parse_openssh
from core.persons.times import parse_z_time

_TOP: Final = ("registry_version", "persons", "agents")
_REMARKS: Final = ("enrolled_by", "enrolled_at", "note")
_PERSON: Final = ("ids", "aliases", "roles", "keys", "oidc", "expires", "revoked_from_index", *_REMARKS)
_AGENT: Final = (*_PERSON, "owner")
_KEY: Final = ("public", "expires", "revoked_from_index", *_REMARKS)
_LOGIN: Final = ("iss", "sub")


class _Place:
    """A place in the file that can refuse what stands there."""

    def __init__(self, file: str | None, path: str = "") -> None:
        self.file, self.path = file, path

    def at(self, *names: str) -> _Place:
        return _Place(self.file, ".".join(part for part in (self.path, *names) if part))

    @property
    def where(self) -> Where:
        return Where(self.file, field=self.path or None)

    def refuse(self, code: str, expected: str, got: str, remedy: str) -> NoReturn:
        raise RegistryError(code, expected=expected, got=got, remedy=remedy, where=self.where)


def _table(value: Any, known: tuple[str, ...] | None, place: _Place) -> dict[str, Any]:
    if not isinstance(value, dict):
        place.refuse("wrong_type", "a table", type(value).__name__, "write it as in the head of core/persons/registry.py")
    for name in value if known is not None else ():
        if name not in (known or ()):
            near = difflib.get_close_matches(name, known or (), n=1)
            hint = f"did you mean {near[0]}" if near else f"known are {', '.join(known or ())}"
            place.at(name).refuse("unknown_registry_field", "a known field", repr(name), hint)
    return value


def _text(value: Any, place: _Place) -> str:
    if not isinstance(value, str) or not value.strip():
        place.refuse("wrong_type", "text", repr(value), "write it in quotes")
    return value


def _list(value: Any, place: _Place) -> list[Any]:
    if not isinstance(value, list):
        place.refuse("wrong_type", "a list", type(value).__name__, "write it in brackets")
    return value


def _name(value: Any, place: _Place) -> str:
    try:
        identifier = canonical_id(value)
        person_key(identifier)
    except IdentityError as problem:
        place.refuse(problem.code, problem.expected, problem.got, problem.remedy)
    return identifier


def _time(value: Any, place: _Place) -> datetime | None:
    if isinstance(value, datetime) and value.utcoffset() == timedelta():
        return value
    moment = parse_z_time(value) if isinstance(value, str) else None
    if value is not None and moment is None:
        place.refuse("wrong_type", "a UTC time such as \"2027-01-31T00:00:00Z\"", str(value), "write the time in UTC, with Z")
    return moment


def _index(value: Any, place: _Place) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        place.refuse("wrong_type", "an index of the ledger, from 0", repr(value), "write the index of the first entry that does not count")
    return value


def _check_remarks(table: dict[str, Any], place: _Place) -> None:
    for name in _REMARKS:
        if name in table:
            _text(table[name], place.at(name))


def _key(keyid: str, value: Any, place: _Place) -> RegisteredKey:
    table = _table(value, _KEY, place)
    _check_remarks(table, place)
    public = parse_openssh(_text(table.get("public"), place.at("public")), where=place.at("public").where, error=RegistryError)
    if public.keyid != keyid:
        place.refuse("keyid_mismatch", f"the key's fingerprint {public.keyid} as the table's name", keyid, "rename the table")
    expires, revoked = (table.get(name) for name in ("expires", "revoked_from_index"))
    return RegisteredKey(public, _time(expires, place.at("expires")), _index(revoked, place.at("revoked_from_index")))


def _login(value: Any, place: _Place) -> tuple[str, str]:
    table = _table(value, _LOGIN, place)
    return _text(table.get("iss"), place.at("iss")), _text(table.get("sub"), place.at("sub"))


def _roles(value: Any, place: _Place) -> list[Any]:
    for role in (roles := _list(value, place)):
        if role not in ROLES:
            place.refuse("unknown_role", f"one of {', '.join(ROLES)}", repr(role), "choose from these")
    return roles


def _person(name: str, value: Any, place: _Place, *, agent: bool) -> Person:
    table = _table(value, _AGENT if agent else _PERSON, place)
    identifier = _name(name, place)
    _check_remarks(table, place)
    if agent and "owner" not in table:
        place.refuse("agent_without_owner", "an owner: the person who answers for this agent", "none", "add owner = \"...\"")
    others = [_name(item, place.at(field)) for field in ("ids", "aliases") for item in _list(table.get(field, []), place.at(field))]
    keys = _table(table.get("keys", {}), None, place.at("keys"))
    return Person(
        id=identifier,
        names=tuple(dict.fromkeys((identifier, *others))),
        roles=frozenset(_roles(table.get("roles", []), place.at("roles"))),
        keys=tuple(_key(keyid, item, place.at("keys", keyid)) for keyid, item in keys.items()),
        oidc=tuple(_login(item, place.at("oidc")) for item in _list(table.get("oidc", []), place.at("oidc"))),
        expires=_time(table.get("expires"), place.at("expires")),
        revoked_from_index=_index(table.get("revoked_from_index"), place.at("revoked_from_index")),
        owner=_name(table["owner"], place.at("owner")) if agent else None,
    )


def read_persons(data: bytes, file: str | None) -> tuple[Person, ...]:
    """Persons, then agents, in the order of the file. Raises RegistryError naming file and field."""
    place = _Place(file)
    try:
        document = tomllib.loads(decode_utf8(data, where=place.where, error=RegistryError))
    except tomllib.TOMLDecodeError as problem:
        place.refuse("not_toml", "one complete TOML document, each table and key once", str(problem), "correct the file at that place")
    except RecursionError:
        place.refuse("nested_too_deeply", "tables as in the head of core/persons/registry.py", "lists or tables without end", "restore the file")
    _table(document, _TOP, place)
    version = document.get("registry_version")
    if version != 1 or isinstance(version, bool):
        place.at("registry_version").refuse("unknown_registry_version", "1", repr(version), "use an engine that knows this version")
    return tuple(
        _person(name, value, place.at(group, name), agent=group == "agents")
        for group in ("persons", "agents") for name, value in _table(document.get(group, {}), None, place.at(group)).items()
    )
