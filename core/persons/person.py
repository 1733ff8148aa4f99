"""A person or agent, as enrolled."""
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, get_args

from core.persons.identity import person_key
from core.persons.publickey import PublicKey

Role = Literal["proposer", "reviewer"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)


@dataclass(frozen=True, slots=True)
class RegisteredKey:
    """A key as enrolled. ``expires`` and ``revoked_from_index`` limit this key alone."""

    public: PublicKey
    expires: datetime | None = None
    revoked_from_index: int | None = None

    @property
    def keyid(self) -> str:
        return self.public.keyid


@dataclass(frozen=True, slots=True)
class Person:
    """A person, or an agent with somebody who answers for it.

    ``id``: the canonical id that statements carry; ``names``: all its ids and aliases in canonical form, ``id`` first;
    ``oidc``: (iss, sub) of its logins; ``revoked_from_index``: entries of the ledger from there on do not count;
    ``owner``: for an agent, the person who answers for it.
    """

    id: str
    names: tuple[str, ...]
    roles: frozenset[Role]
    keys: tuple[RegisteredKey, ...] = ()
    oidc: tuple[tuple[str, str], ...] = ()
    expires: datetime | None = None
    revoked_from_index: int | None = None
    owner: str | None = None

    @property
    def is_agent(self) -> bool:
        return self.owner is not None

    @property
    def key(self) -> str:
        """The person key of ``id``."""
        return person_key(self.id)
