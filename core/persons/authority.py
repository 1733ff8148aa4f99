"""May this person, with this key, do this now? The checks that proposing, signing, appending and verifying share."""
from __future__ import annotations

from datetime import datetime
from typing import NoReturn

from core.errors import IdentityError, SignatureError
from core.persons.identity import canonical_id
from core.persons.person import Person, RegisteredKey, Role
from core.persons.registry import Registry
from core.persons.times import z_time


def _refuse(code: str, expected: str, got: str, remedy: str) -> NoReturn:
    raise IdentityError(code, expected=expected, got=got, remedy=remedy)


def _check_limits(what: str, holder: Person | RegisteredKey, at: datetime, index: int) -> None:
    if holder.expires is not None and at >= holder.expires:
        _refuse("expired", f"{what} before it expired on {z_time(holder.expires)}", f"a use at {z_time(at)}", "renew the entry in the registry")
    if holder.revoked_from_index is not None and index >= holder.revoked_from_index:
        _refuse("revoked", f"{what} below ledger entry {holder.revoked_from_index}, from which on it is revoked", f"a use at entry {index}",
                "sign with a key that is not revoked")


def authorised_person(registry: Registry, identifier: object, role: Role | None, *, at: datetime, index: int) -> Person:
    """The enrolled person of an id who may act in ``role`` (None: any role) at time ``at`` and ledger index ``index``.

    Raises IdentityError: what the id itself is refused for, ``unknown_person``, ``wrong_role``, ``expired``, ``revoked``."""
    person = registry.find(identifier)
    if person is None:
        _refuse("unknown_person", "an enrolled person", f"{canonical_id(identifier)}, whom the registry does not name",
                "enrol the person: countersign keygen, then enrol")
    if not (person.roles if role is None else role in person.roles):
        held = ", ".join(sorted(person.roles)) or "no role"
        _refuse("wrong_role", f"a person with the role {role or 'proposer or reviewer'}", f"{person.id} with {held}",
                "give the role in the registry, or let somebody else act")
    _check_limits(f"the entry of {person.id}", person, at, index)
    return person


def authorised_key(registry: Registry, keyid: str, person: Person, *, at: datetime, index: int) -> RegisteredKey:
    """The key of this fingerprint, which must be ``person``'s own, neither expired nor revoked.

    Raises SignatureError ``unknown_key`` or ``anothers_key``, IdentityError ``expired`` or ``revoked``."""
    found = registry.by_keyid(keyid)
    if found is None:
        raise SignatureError("unknown_key", expected=f"a key enrolled for {person.id}", got=f"{keyid}, which the registry does not name",
                             remedy="use the registry that names it, or enrol the key")
    owner, key = found
    if owner.id != person.id:
        raise SignatureError("anothers_key", expected=f"a key of {person.id}", got=f"{keyid}, a key of {owner.id}",
                             remedy="each person signs with their own key")
    _check_limits(f"the key {keyid}", key, at, index)
    return key
