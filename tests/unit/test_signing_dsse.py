"""DSSE: the protocol's own vector, strict reading, and two other implementations (securesystemslib, OpenSSL)."""
from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope as OtherEnvelope
from securesystemslib.signer import CryptoSigner

from core.errors import EXIT, ReceiptError, SignatureError
from core.persons.publickey import public_key
from core.signing.dsse import Envelope, Signature, pae, parse_envelope, seal

OPENSSL = shutil.which("openssl")
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = public_key(PRIVATE.public_key().public_bytes_raw())


class MemorySigner:
    def sign(self, message: bytes) -> Signature:
        return Signature(KEY.keyid, PRIVATE.sign(message))


def test_pae_is_the_protocols_own_example() -> None:
    # protocol.md of DSSE: PAE("http://example.com/HelloWorld", "hello world")
    assert pae("http://example.com/HelloWorld", b"hello world") == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"


def test_pae_counts_bytes_not_characters() -> None:
    assert pae("é", "ü".encode() * 2) == b"DSSEv1 2 \xc3\xa9 4 \xc3\xbc\xc3\xbc"
    assert pae("", b"") == b"DSSEv1 0  0 "


@given(st.text(max_size=8), st.binary(max_size=40))
def test_round_trip_and_canonical_json(kind: str, payload: bytes) -> None:
    envelope = seal(kind, payload, MemorySigner())
    parsed = parse_envelope(envelope.encoded)
    assert parsed == envelope
    parsed.verify(KEY)
    # ASCII keys in order and strings only: here json.dumps and RFC 8785 agree
    assert json.dumps(json.loads(envelope.encoded), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() == envelope.encoded


def test_securesystemslib_verifies_ours_and_we_verify_theirs() -> None:
    envelope = seal("application/x-test", b'{"a":1}', MemorySigner())
    theirs = OtherEnvelope.from_dict(json.loads(envelope.encoded))
    other = CryptoSigner(PRIVATE)
    other.public_key.keyid = KEY.keyid
    assert theirs.verify([other.public_key], threshold=1).keys() == {KEY.keyid}
    made = OtherEnvelope(payload=b"payload", payload_type="application/x-test", signatures={})
    signature = made.sign(other)
    ours = Envelope("application/x-test", b"payload", Signature(KEY.keyid, bytes.fromhex(signature.signature)))
    ours.verify(KEY)
    assert made.pae() == pae("application/x-test", b"payload")


@pytest.mark.skipif(OPENSSL is None, reason="OpenSSL is not installed")
def test_openssl_verifies_ours(tmp_path: Path) -> None:
    envelope = seal("application/x-test", b"payload", MemorySigner())
    (tmp_path / "key.pem").write_bytes(PRIVATE.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    (tmp_path / "sig").write_bytes(envelope.signature.sig)
    for payload, code in ((b"payload", 0), (b"Payload", 1)):
        (tmp_path / "pae").write_bytes(pae(envelope.payload_type, payload))
        command = [str(OPENSSL), "pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-rawin", "-in", "pae", "-sigfile", "sig"]
        assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == code


def test_a_signature_belongs_to_its_payload_type() -> None:
    envelope = seal("application/x-one", b"payload", MemorySigner())
    with pytest.raises(SignatureError):
        Envelope("application/x-two", b"payload", envelope.signature).verify(KEY)


def document() -> dict[str, object]:
    return json.loads(seal("application/x-test", b"payload", MemorySigner()).encoded)


def spelled(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def changed(**members: object) -> bytes:
    return spelled(document() | members)


SIGNATURE = document()["signatures"][0]  # type: ignore[index]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "not_json"), (b"[]", "wrong_fields"), (b"null", "wrong_fields"), (b'{"payload":"", "payload":""}', "duplicate_json_key"),
        (b"\xef\xbb\xbf{}", "byte_order_mark"), (b"{}", "wrong_fields"), (b"NaN", "non_finite_number"),
        (changed(extra=1), "wrong_fields"),
        (changed(signatures=[]), "signature_count"), (changed(signatures=[SIGNATURE, SIGNATURE]), "signature_count"),
        (changed(signatures={}), "signature_count"),
        (changed(signatures=[SIGNATURE | {"extension": {}}]), "wrong_fields"), (changed(signatures=["x"]), "wrong_fields"),
        (changed(signatures=[SIGNATURE | {"sig": 7}]), "wrong_type"), (changed(signatures=[SIGNATURE | {"keyid": None}]), "wrong_type"),
        (changed(payload=None), "wrong_type"), (changed(payloadType=["x"]), "wrong_type"),
        (changed(payload="cGF5bG9hZA"), "not_base64"),           # padding left out
        (changed(payload="cGF5bG9hZB=="), "not_base64"),         # loose trailing bits
        (changed(payload="cGF5bG9hZA==\n"), "not_base64"), (changed(payload="cGF5-G9hZA=="), "not_base64"), (changed(payload="é"), "not_base64"),
        (changed() + b"\n", "not_canonical"), (json.dumps(document()).encode(), "not_canonical"),
        (b"[" * 100_000, "nested_too_deeply"), (b" " * 5_000_000, "too_large"),
    ],
)
def test_refused(data: bytes, code: str) -> None:
    with pytest.raises(ReceiptError) as caught:
        parse_envelope(data)
    assert caught.value.code == code and caught.value.exit_code == EXIT["bad_input"] == 4


def test_every_flipped_bit_is_noticed() -> None:
    good = seal("application/x-test", b"payload", MemorySigner())
    for position in range(len(good.encoded)):
        for bit in range(8):
            data = bytearray(good.encoded)
            data[position] ^= 1 << bit
            try:
                envelope = parse_envelope(bytes(data))
            except ReceiptError:
                continue
            if envelope.signature.keyid != good.signature.keyid:
                continue                                     # no such key in any registry
            with pytest.raises(SignatureError):
                envelope.verify(KEY)


def test_the_payload_is_kept_as_bytes() -> None:
    odd = b'{"a": 1.0, "a": NaN}\xff'
    assert parse_envelope(seal("x", odd, MemorySigner()).encoded).payload == odd
    assert base64.b64encode(odd) in seal("x", odd, MemorySigner()).encoded
