"""Ed25519 public keys in OpenSSH's one-line form, their fingerprints, and checking a signature with one.

Every key that enters here, from a registry, an enrolment request or a private key file, is tested for weakness once
(``curve.py``): an object of this class is a key that may be trusted to speak for somebody.
"""
from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from dataclasses import dataclass
from typing import Final, NoReturn

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from core.canonical import ErrorMaker
from core.errors import SignatureError, Where
from core.persons.curve import Weakness, weakness
from core.text import shortened, visible_line

ALGORITHM: Final = "ssh-ed25519"
_LENGTH: Final = struct.Struct(">I")
_WHY: Final[dict[Weakness, str]] = {
    "wrong_length": "a key of another length", "non_canonical": "a second encoding of a point", "not_on_curve": "no point of the curve",
    "small_order": "a point of small order, under which anybody can make signatures",
}


def wire_string(data: bytes) -> bytes:
    """A string of the SSH wire format: its length in four bytes, then itself (RFC 4251, 5)."""
    return _LENGTH.pack(len(data)) + data


@dataclass(frozen=True, slots=True)
class PublicKey:
    """An Ed25519 public key that passed the weakness test. ``raw``: its 32 bytes."""

    raw: bytes

    @property
    def blob(self) -> bytes:
        """The key in the SSH wire format: what a fingerprint is taken over."""
        return wire_string(ALGORITHM.encode()) + wire_string(self.raw)

    @property
    def keyid(self) -> str:
        """The SSH fingerprint, ``SHA256:`` and unpadded base64: what ``ssh-keygen -l`` prints."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip("=")

    @property
    def openssh(self) -> str:
        """``ssh-ed25519 AAAA...``, without a comment."""
        return f"{ALGORITHM} {base64.b64encode(self.blob).decode()}"

    def verify(self, signature: bytes, message: bytes) -> None:
        """Return when ``signature`` is this key's over ``message``. Raises SignatureError ``bad_signature``."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except InvalidSignature as problem:
            raise SignatureError(
                "bad_signature", expected=f"a signature by key {self.keyid} over exactly these bytes", got="one that does not verify",
                remedy="get the receipt again from its source; if it was changed on purpose, it must be signed again",
            ) from problem


def public_key(raw: bytes, *, where: Where | None = None, error: ErrorMaker = SignatureError) -> PublicKey:
    """A key from its 32 bytes. Raises ``error``: ``weak_key`` for a key nobody may use, ``malformed_key``."""
    problem = weakness(raw)
    if problem is not None:
        code = "malformed_key" if problem == "wrong_length" else "weak_key"
        raise error(code, expected="an Ed25519 key of full order, canonically encoded", got=_WHY[problem], remedy="make a new key", where=where)
    return PublicKey(raw)


def parse_openssh(line: str, *, where: Where | None = None, error: ErrorMaker = SignatureError) -> PublicKey:
    """A key from ``ssh-ed25519 AAAA... [comment]``. Raises ``error``: ``unknown_key_type``, ``malformed_key``, ``weak_key``."""
    def refuse(code: str, expected: str, got: str) -> NoReturn:
        raise error(code, expected=expected, got=got, remedy="paste the line of the .pub file, or make a key with countersign keygen", where=where)

    algorithm, _, rest = line.strip().partition(" ")
    if algorithm != ALGORITHM:
        refuse("unknown_key_type", f"a line that begins with {ALGORITHM}", repr(shortened(visible_line(algorithm), len(ALGORITHM))))
    encoded = rest.split(" ", maxsplit=1)[0]
    try:
        blob = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        refuse("malformed_key", "base64", "something else")
    raw = blob[len(PublicKey(b"").blob):]
    # building it again from the 32 bytes leaves no room for a second spelling of one key
    if PublicKey(raw).openssh != f"{ALGORITHM} {encoded}":
        refuse("malformed_key", "an Ed25519 key in the SSH wire format, in canonical base64", f"{len(blob)} bytes that are not one")
    return public_key(raw, where=where, error=error)
