"""The registry of persons, ``reviewers.toml``: who may propose and review, with which keys, and who is whom.

::

    registry_version = 1

    [persons."ana@example.org"]
    roles = ["proposer", "reviewer"]
    ids = ["ana.k@example.com"]             # further ids of hers
    aliases = ["curator-a"]                 # names others know her by; all of them are one person
    expires = "2027-01-31T00:00:00Z"        # optional
    revoked_from_index = 40                 # optional: entries of the ledger from 40 on do not count
    oidc = [{iss = "...", sub = "..."}]     # optional
    [persons."ana@example.org".keys."SHA256:..."]
    public = "ssh-ed25519 AAAA..."          # expires and revoked_from_index may stand here too

    [agents."nightly-curator"]              # as a person, and:
    owner = "ana@example.org"               # the person who answers for it

A table may be added at the end of the file without touching what is there. A registry in which one key, id, alias or
login belongs to two persons does not load, nor does one with a weak key. The digest of its bytes goes into every
statement. Checks of what a person may do are in ``authority.py``.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from core.canonical import sha256_hex
from core.errors import RegistryError, Where
from core.persons.identity import person_key
from core.persons.person import Person, RegisteredKey
from core.persons.registry_file import read_persons


@dataclass(frozen=True)
class Registry:
    """A loaded registry. ``digest``: SHA-256 of the file's bytes; ``aliases``: every person key -> key of its owner."""

    persons: tuple[Person, ...]
    digest: str
    aliases: Mapping[str, str]
    _by_key: Mapping[str, Person] = field(repr=False)
    _by_keyid: Mapping[str, tuple[Person, RegisteredKey]] = field(repr=False)

    @classmethod
    def load(cls, path: Path) -> Registry:
        """Read ``reviewers.toml``. Raises RegistryError naming the field."""
        try:
            data = path.read_bytes()
        except OSError as problem:
            raise RegistryError(
                "registry_unreadable", expected="a readable registry", got=problem.strerror or "no such file",
                remedy="enrol the first person with countersign enrol", where=Where(path.name),
            ) from problem
        return _loaded(data, path.name)

    @classmethod
    def from_bytes(cls, data: bytes, *, file: str = "reviewers.toml") -> Registry:
        """A registry from the bytes of its file. Raises RegistryError."""
        persons = read_persons(data, file)
        by_key, by_keyid = _index_names(persons, file), _index_keys(persons, file)
        _check_logins(persons, file)
        aliases = MappingProxyType({name: person.key for name, person in by_key.items()})
        registry = cls(persons, sha256_hex(data), aliases, MappingProxyType(by_key), MappingProxyType(by_keyid))
        _check_owners(registry, file)
        return registry

    def key(self, identifier: object) -> str:
        """The person key of an id, with this registry's aliases. Raises IdentityError for what is no id."""
        return person_key(identifier, self.aliases)

    def find(self, identifier: object) -> Person | None:
        """The enrolled person of an id or alias, or None. Raises IdentityError for what is no id."""
        return self._by_key.get(self.key(identifier))

    def by_keyid(self, keyid: str) -> tuple[Person, RegisteredKey] | None:
        """The person and key of a fingerprint, or None."""
        return self._by_keyid.get(keyid)


@lru_cache(maxsize=1)
def _loaded(data: bytes, file: str) -> Registry:
    """The bytes of a registry say all there is to know about it; a page asks for it again and again."""
    return Registry.from_bytes(data, file=file)


def answerable(identifier: object, registry: Registry | None = None) -> frozenset[str]:
    """Person keys of whoever answers for what this id signs: the person; for an agent its owner as well."""
    if registry is None:
        return frozenset({person_key(identifier)})
    person = registry.find(identifier)
    keys = {registry.key(identifier)}
    if person is not None and person.owner is not None:
        keys.add(registry.key(person.owner))
    return frozenset(keys)


def same_person(one: object, other: object, registry: Registry | None = None) -> bool:
    """Whether two ids are one person, or an agent and the person (or two agents of the person) who answers for it.

    Without a registry person keys alone are compared. Raises IdentityError for what is no id."""
    return not answerable(one, registry).isdisjoint(answerable(other, registry))


def self_review(reviewer: object, proposers: Iterable[object], registry: Registry | None = None) -> object | None:
    """The first of ``proposers`` who is the same person as the reviewer, or None."""
    return next((proposer for proposer in proposers if same_person(reviewer, proposer, registry)), None)


def _claimed_twice(code: str, what: str, persons: tuple[Person, Person], file: str) -> RegistryError:
    return RegistryError(
        code, expected=f"{what} under one person", got=f"it stands under {persons[0].id} and {persons[1].id}",
        remedy="make the two one person with aliases, or take it away from one of them", where=Where(file),
    )


def _index_names(persons: tuple[Person, ...], file: str) -> dict[str, Person]:
    index: dict[str, Person] = {}
    for person in persons:
        for name in person.names:
            holder = index.setdefault(person_key(name), person)
            if holder is not person:
                raise _claimed_twice("alias_claimed_twice", f"the id or alias {name}", (holder, person), file)
    return index


def _index_keys(persons: tuple[Person, ...], file: str) -> dict[str, tuple[Person, RegisteredKey]]:
    index: dict[str, tuple[Person, RegisteredKey]] = {}
    for person in persons:
        for key in person.keys:
            if key.keyid in index:
                raise _claimed_twice("key_under_two_persons", f"the key {key.keyid}", (index[key.keyid][0], person), file)
            index[key.keyid] = (person, key)
    return index


def _check_logins(persons: tuple[Person, ...], file: str) -> None:
    seen: dict[tuple[str, str], Person] = {}
    for person in persons:
        for login in person.oidc:
            holder = seen.setdefault(login, person)
            if holder is not person:
                raise _claimed_twice("login_under_two_persons", f"the login {login[1]} at {login[0]}", (holder, person), file)


def _check_owners(registry: Registry, file: str) -> None:
    for person in registry.persons:
        owner = registry.find(person.owner) if person.owner is not None else None
        if person.is_agent and (owner is None or owner.is_agent):
            raise RegistryError(
                "owner_not_a_person", expected=f"the owner of agent {person.id} to be an enrolled person", got=str(person.owner),
                remedy="enrol the person who answers for the agent", where=Where(file, field=f"agents.{person.id}.owner"),
            )
