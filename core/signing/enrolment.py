"""Enrolling a key: its owner makes a request that proves possession, somebody else merges it into the registry.

A request is an envelope of its own payload type, signed by the key that it names, so it can never be taken for a
statement. Merging appends tables to ``reviewers.toml`` and touches nothing that is there; the new text must load as a
whole before it takes the old one's place. That the person behind the id is who they claim to be is what the merging
person answers for (``enrolled_by``): compare the fingerprint over another channel.
"""
from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, NoReturn

from core.canonical import canonical_bytes, parse_canonical
from core.errors import IdentityError, ReceiptError, RegistryError, Where
from core.files import locked, replace_file
from core.persons.identity import canonical_id, person_key
from core.persons.person import ROLES, Role
from core.persons.publickey import PublicKey, parse_openssh
from core.persons.registry import Registry, same_person
from core.persons.times import parse_z_time, z_time
from core.settings import SETTINGS
from core.signing import schema
from core.signing.dsse import Signer, parse_envelope, seal

REQUEST_TYPE: Final = "application/vnd.countersign.enrolment+json"
_SCHEMA: Final = schema.record({
    "enrolment_version": schema.constant(1), "id": schema.text(limit=SETTINGS["text"]["id_characters"]), "public_key": schema.text(),
    "requestedAt": schema.z_time, "nonce": schema.hexadecimal,
})
_NEW_REGISTRY: Final = "registry_version = 1\n"


@dataclass(frozen=True, slots=True)
class EnrolmentRequest:
    """A request whose signature holds: ``id`` (canonical) asks for ``public`` to be enrolled."""

    id: str
    public: PublicKey
    requested_at: str


def make_request(identifier: str, public: PublicKey, signer: Signer, now: datetime) -> bytes:
    """The bytes of a request: an envelope signed by the key itself. Raises IdentityError for what is no id."""
    person_key(identifier)
    document = {
        "enrolment_version": 1, "id": canonical_id(identifier), "public_key": public.openssh, "requestedAt": z_time(now),
        "nonce": secrets.token_hex(SETTINGS["signing"]["nonce_bytes"]),
    }
    return seal(REQUEST_TYPE, canonical_bytes(document), signer).encoded


def read_request(data: bytes, *, where: Where | None = None) -> EnrolmentRequest:
    """A request whose key signed it. Raises ReceiptError, IdentityError, SignatureError (``weak_key``, ``bad_signature``)."""
    envelope = parse_envelope(data, where=where)
    if envelope.payload_type != REQUEST_TYPE:
        schema.refuse("payloadType", REQUEST_TYPE, envelope.payload_type)
    document = parse_canonical(envelope.payload, where=where, error=ReceiptError)
    _SCHEMA(document, "")
    public = parse_openssh(document["public_key"], where=where)
    if envelope.signature.keyid != public.keyid or public.openssh != document["public_key"]:
        schema.refuse("signatures[0].keyid", f"{public.keyid}, the key that asks to be enrolled", envelope.signature.keyid)
    envelope.verify(public)
    if canonical_id(document["id"]) != document["id"]:
        schema.refuse("id", canonical_id(document["id"]), document["id"])
    return EnrolmentRequest(document["id"], public, document["requestedAt"])


def enrol(
    file: Path, request: EnrolmentRequest, enrolled_by: str, now: datetime, *, roles: Sequence[Role] = (), aliases: Sequence[str] = (),
    expires: str | None = None, owner: str | None = None,
) -> Registry:
    """Merge a request into the registry file and return the new registry.

    ``enrolled_by``: who merges and answers for it, another person than the one enrolled, and enrolled already unless the
    registry is empty. ``roles``, ``aliases`` and ``owner`` (which makes it an agent) are for somebody new; for a person
    who is enrolled the key is added. ``expires``: of the key. Raises IdentityError, RegistryError; then nothing is written."""
    file.parent.mkdir(mode=SETTINGS["storage"]["directory_mode"], parents=True, exist_ok=True)
    with locked(file.with_name(f"{file.name}.lock")):
        text = file.read_text("utf-8") if file.exists() else _NEW_REGISTRY
        registry = Registry.from_bytes(text.encode(), file=file.name)
        by = _enroller(registry, request, enrolled_by, owner)
        stamp = f'enrolled_by = "{by}"\nenrolled_at = "{z_time(now)}"\n'
        person = registry.find(request.id)
        if person is None:
            group, tables = _person_table(request, roles, aliases, owner, stamp)
            holder = request.id
        elif roles or aliases or owner:
            got = "roles, aliases or an owner too"
            _refuse("already_enrolled", f"a key alone, since {person.id} is enrolled", got, "change those in the file itself")
        else:
            group, tables, holder = "agents" if person.is_agent else "persons", "", person.id
        tables += _key_table(request, group, holder, expires, stamp)
        data = f"{text.rstrip()}\n{tables}".encode()
        merged = Registry.from_bytes(data, file=file.name)
        replace_file(file, data)
    return merged


def _refuse(code: str, expected: str, got: str, remedy: str) -> NoReturn:
    raise RegistryError(code, expected=expected, got=got, remedy=remedy)


def _enroller(registry: Registry, request: EnrolmentRequest, enrolled_by: str, owner: str | None) -> str:
    by = canonical_id(enrolled_by)
    if any(same_person(by, other, registry) for other in (request.id, *(() if owner is None else (owner,)))):
        raise IdentityError(
            "self_enrolment", expected=f"somebody other than {request.id} (and an agent's owner) to enrol them", got=by,
            remedy="let another person merge the request",
        )
    if registry.persons and registry.find(by) is None:
        raise IdentityError(
            "unknown_person", expected="an enrolled person to enrol others", got=by, remedy="let somebody who is enrolled merge the request",
        )
    return by


def _key_table(request: EnrolmentRequest, group: str, holder: str, expires: str | None, stamp: str) -> str:
    if expires is not None and parse_z_time(expires) is None:
        _refuse("wrong_type", "a time such as 2027-01-31T00:00:00Z", repr(expires), "write the time in UTC, with Z")
    limit = "" if expires is None else f'expires = "{expires}"\n'
    return f'\n[{group}."{holder}".keys."{request.public.keyid}"]\npublic = "{request.public.openssh}"\n{limit}{stamp}'


def _person_table(
    request: EnrolmentRequest, roles: Sequence[Role], aliases: Sequence[str], owner: str | None, stamp: str,
) -> tuple[str, str]:
    """Everything written is an id in its grammar, a role or a time: nothing in it needs quoting."""
    if not roles or not set(roles) <= set(ROLES):
        _refuse("role_missing", "at least one role for a new person", "none", "add --role proposer or --role reviewer")
    group = "persons" if owner is None else "agents"
    lines = [f'\n[{group}."{request.id}"]', "roles = [" + ", ".join(f'"{role}"' for role in dict.fromkeys(roles)) + "]"]
    if aliases:
        lines.append("aliases = [" + ", ".join(f'"{canonical_id(alias)}"' for alias in aliases) + "]")
    if owner is not None:
        lines.append(f'owner = "{canonical_id(owner)}"')
    return group, "\n".join(lines) + "\n" + stamp
