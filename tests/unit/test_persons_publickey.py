"""OpenSSH public key lines: strict parsing, fingerprints as ssh-keygen prints them, weak keys refused."""
from __future__ import annotations

import base64
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from core.errors import RegistryError, SignatureError
from core.persons.publickey import parse_openssh, public_key

SSH_KEYGEN = shutil.which("ssh-keygen")


def line_of(raw: bytes, algorithm: bytes = b"ssh-ed25519") -> str:
    blob = struct.pack(">I", len(algorithm)) + algorithm + struct.pack(">I", len(raw)) + raw
    return f"{algorithm.decode()} {base64.b64encode(blob).decode()}"


def test_agrees_with_cryptography_and_keeps_no_comment() -> None:
    key = Ed25519PrivateKey.generate().public_key()
    written = key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    parsed = parse_openssh(written + " ana@laptop with spaces\n")
    assert parsed.raw == key.public_bytes_raw()
    assert parsed.openssh == written == line_of(parsed.raw)


@pytest.mark.skipif(SSH_KEYGEN is None, reason="OpenSSH is not installed")
def test_the_keyid_is_what_ssh_keygen_prints(tmp_path: Path) -> None:
    key = public_key(Ed25519PrivateKey.generate().public_key().public_bytes_raw())
    file = tmp_path / "key.pub"
    file.write_text(key.openssh + " someone\n")
    printed = subprocess.run([str(SSH_KEYGEN), "-l", "-f", str(file)], capture_output=True, text=True, check=True).stdout
    assert printed.split()[1] == key.keyid


def test_a_signature_over_other_bytes_is_refused() -> None:
    private = Ed25519PrivateKey.generate()
    key = public_key(private.public_key().public_bytes_raw())
    signature = private.sign(b"payload")
    key.verify(signature, b"payload")
    for bad, message in ((signature, b"Payload"), (signature[:-1], b"payload"), (b"", b"payload"), (bytes(64), b"payload")):
        with pytest.raises(SignatureError) as caught:
            key.verify(bad, message)
        assert caught.value.code == "bad_signature"


def test_a_shifted_s_is_refused() -> None:
    """S + L satisfies the same equation modulo L; RFC 8032 5.1.7 requires S < L."""
    order = 2**252 + 27742317777372353535851937790883648493
    private = Ed25519PrivateKey.generate()
    signature = private.sign(b"payload")
    shifted = signature[:32] + (int.from_bytes(signature[32:], "little") + order).to_bytes(32, "little")
    with pytest.raises(SignatureError):
        public_key(private.public_key().public_bytes_raw()).verify(shifted, b"payload")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("", "unknown_key_type"),
        ("ssh-rsa AAAAB3NzaC1yc2E=", "unknown_key_type"),
        ("sk-ssh-ed25519@openssh.com AAAA", "unknown_key_type"),
        ("ssh-ed25519", "malformed_key"),
        ("ssh-ed25519 !!!!", "malformed_key"),
        ("ssh-ed25519 AAAA", "malformed_key"),
        (line_of(b"\x01" * 31), "malformed_key"),
        (line_of(bytes(32), b"ssh-ed25518").replace("ssh-ed25518 ", "ssh-ed25519 "), "malformed_key"),
        (line_of(b"\x01" + bytes(31)), "weak_key"),            # the identity, order 1
        (line_of(bytes(32)), "weak_key"),                      # y = 0, order 4
        (line_of(b"\xff" * 32), "weak_key"),                   # y >= p
    ],
)
def test_refused(line: str, code: str) -> None:
    with pytest.raises(RegistryError) as caught:
        parse_openssh(line, error=RegistryError)
    assert caught.value.code == code


def test_base64_with_loose_trailing_bits_is_refused() -> None:
    good = public_key(Ed25519PrivateKey.generate().public_key().public_bytes_raw()).openssh
    # 51 bytes of blob are 68 characters without padding: no loose bits; so lengthen by a byte and loosen
    blob = base64.b64decode(good.split()[1]) + b"\x00"
    with pytest.raises(SignatureError) as caught:
        parse_openssh("ssh-ed25519 " + base64.b64encode(blob).decode())
    assert caught.value.code == "malformed_key"
    with pytest.raises(SignatureError):
        parse_openssh(good[:-1])

