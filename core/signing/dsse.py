"""DSSE envelopes: bytes of some type, and one signature over them. Knows nothing of what the bytes say.

What is signed is not the payload but its pre-authentication encoding ``pae(type, payload)``, so a signature over one
type of document can never be taken for one over another. An envelope is read strictly: exactly these fields, exactly
one signature, base64 in its one canonical spelling, the document itself in RFC 8785 bytes. So a receipt has one
spelling, and its SHA-256 names it. The payload's bytes are the truth: they are kept untouched and never written again.

Source: the DSSE v1 protocol (secure-systems-lab/dsse).
"""
from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NoReturn, Protocol

from core.canonical import canonical_bytes, parse_json, sha256_hex
from core.errors import ReceiptError, Where
from core.persons.publickey import PublicKey
from core.settings import SETTINGS

_FIELDS: Final = frozenset({"payload", "payloadType", "signatures"})
_SIGNATURE_FIELDS: Final = frozenset({"keyid", "sig"})


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature and the fingerprint of the key that made it. The fingerprint is a hint: whose key it is, the registry says."""

    keyid: str
    sig: bytes


class Signer(Protocol):
    """The whole seam to a key: a key file, an ssh-agent, a passkey."""

    def sign(self, message: bytes) -> Signature:
        """A signature over exactly these bytes. Raises SignatureError."""


def pae(payload_type: str, payload: bytes) -> bytes:
    """``DSSEv1 LEN(type) type LEN(payload) payload``, lengths in decimal, one space between."""
    kind = payload_type.encode()
    return b" ".join((b"DSSEv1", str(len(kind)).encode(), kind, str(len(payload)).encode(), payload))


@dataclass(frozen=True)
class Envelope:
    """A payload, its type, and one signature."""

    payload_type: str
    payload: bytes
    signature: Signature

    @cached_property
    def encoded(self) -> bytes:
        """The envelope's one spelling: RFC 8785 bytes, no line feed at the end."""
        return canonical_bytes({
            "payload": base64.b64encode(self.payload).decode(), "payloadType": self.payload_type,
            "signatures": [{"keyid": self.signature.keyid, "sig": base64.b64encode(self.signature.sig).decode()}],
        })

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the envelope's bytes."""
        return sha256_hex(self.encoded)

    @property
    def payload_digest(self) -> str:
        """SHA-256 of the payload's bytes: what was shown is what was signed."""
        return sha256_hex(self.payload)

    def verify(self, key: PublicKey) -> None:
        """Return when ``key`` made the signature. Raises SignatureError ``bad_signature``."""
        key.verify(self.signature.sig, pae(self.payload_type, self.payload))


def seal(payload_type: str, payload: bytes, signer: Signer) -> Envelope:
    """Sign a payload. Raises what the signer raises."""
    return Envelope(payload_type, payload, signer.sign(pae(payload_type, payload)))


def parse_envelope(data: bytes, *, where: Where | None = None) -> Envelope:
    """Read an envelope strictly. Raises ReceiptError naming the field. Says nothing about who signed."""
    document = parse_json(data, where=where, error=ReceiptError, max_bytes=SETTINGS["json"]["max_receipt_bytes"])
    _exact(document, _FIELDS, "", where)
    signatures = document["signatures"]
    if not isinstance(signatures, list) or len(signatures) != 1:
        _refuse("signature_count", "signatures", "a list of exactly one signature", _shape(signatures), where)
    _exact(signatures[0], _SIGNATURE_FIELDS, "signatures[0]", where)
    payload_type, keyid = _text(document, "payloadType", "", where), _text(signatures[0], "keyid", "signatures[0].", where)
    signature = Signature(keyid, _decoded(signatures[0], "sig", "signatures[0].", where))
    envelope = Envelope(payload_type, _decoded(document, "payload", "", where), signature)
    if envelope.encoded != data:
        _refuse("not_canonical", "", "the envelope's canonical bytes", "the same envelope in other bytes", where)
    return envelope


def _refuse(code: str, field: str, expected: str, got: str, where: Where | None) -> NoReturn:
    place = where or Where()
    raise ReceiptError(
        code, expected=expected, got=got, remedy="get the file again from its source, untouched",
        where=Where(place.file, place.line, field or place.field),
    )


def _shape(value: Any) -> str:
    return f"a list of {len(value)}" if isinstance(value, list) else type(value).__name__


def _exact(value: Any, fields: frozenset[str], field: str, where: Where | None) -> None:
    if not isinstance(value, dict) or set(value) != fields:
        found = ", ".join(sorted(value)) if isinstance(value, dict) else type(value).__name__
        _refuse("wrong_fields", field, f"an object with exactly {', '.join(sorted(fields))}", found, where)


def _text(document: dict[str, Any], name: str, prefix: str, where: Where | None) -> str:
    value = document[name]
    if not isinstance(value, str):
        _refuse("wrong_type", prefix + name, "text", type(value).__name__, where)
    return value


def _decoded(document: dict[str, Any], name: str, prefix: str, where: Where | None) -> bytes:
    text = _text(document, name, prefix, where)
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        _refuse("not_base64", prefix + name, "base64", "something else", where)
    if base64.b64encode(data).decode() != text:
        _refuse("not_base64", prefix + name, "base64 in its canonical spelling", "another spelling of the same bytes", where)
    return data
