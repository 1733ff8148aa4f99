"""Private keys in encrypted OpenSSH files, and signing with one.

A key file is made here once (``make_key_file``: exclusive, readable by its owner alone, slow key derivation) and read
for one signature. Neither passphrase nor private key is kept, logged or shown; errors name the file only.
"""
from __future__ import annotations

import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PrivateFormat, load_ssh_private_key

from core.errors import SignatureError, Where
from core.files import write_new
from core.persons.publickey import PublicKey, public_key
from core.settings import SETTINGS
from core.signing.dsse import Signature

_SETTINGS: Final = SETTINGS["signing"]
_NOT_SLUG: Final = re.compile(r"[^a-z0-9]+")


def slug(text: str) -> str:
    """Text as a file name made of ``a-z0-9-`` alone; never empty, never a path."""
    return _NOT_SLUG.sub("-", text.lower()).strip("-")[:_SETTINGS["slug_characters"]].strip("-") or "unnamed"


def _refuse(code: str, expected: str, got: str, remedy: str, path: Path | None = None) -> NoReturn:
    raise SignatureError(code, expected=expected, got=got, remedy=remedy, where=None if path is None else Where(path.name))


def check_passphrase(passphrase: str) -> None:
    """Return when a new key may be encrypted under this passphrase. Raises SignatureError ``short_passphrase``."""
    wanted = _SETTINGS["passphrase_characters"]
    if len(passphrase.strip()) < wanted:
        got = f"{len(passphrase.strip())}"
        _refuse("short_passphrase", f"a passphrase of at least {wanted} characters", got, "choose a longer one, for example six random words")


def make_key_file(path: Path, passphrase: str) -> PublicKey:
    """Make an Ed25519 key and write it to ``path``, encrypted, mode 0600; ``path`` must not exist. Returns its public key.

    Raises SignatureError: ``short_passphrase``, ``key_exists``, ``key_unwritable``."""
    check_passphrase(passphrase)
    private = Ed25519PrivateKey.generate()
    encryption = PrivateFormat.OpenSSH.encryption_builder().kdf_rounds(_SETTINGS["kdf_rounds"]).build(passphrase.encode())
    try:
        write_new(path, private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, encryption), mode=_SETTINGS["private_file_mode"])
    except FileExistsError:
        _refuse("key_exists", "a name that is free", "a file of that name", "choose another place, or keep using the key that is there", path)
    except OSError as problem:
        _refuse("key_unwritable", "a folder that can be written", problem.strerror or "an error", "choose another place", path)
    return public_key(private.public_key().public_bytes_raw())


@dataclass(frozen=True)
class FileSigner:
    """Signs with the private key of an encrypted OpenSSH file."""

    public: PublicKey
    _private: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def open(cls, path: Path, passphrase: str) -> FileSigner:
        """Decrypt a key file. Raises SignatureError: ``key_unreadable``, ``key_too_open``, ``key_not_encrypted``,
        ``wrong_passphrase``, ``not_a_key``, ``unknown_key_type``."""
        private = _decrypted(_key_bytes(path), passphrase, path)
        if not isinstance(private, Ed25519PrivateKey):
            _refuse("unknown_key_type", "an Ed25519 key", "a key of another type", "make a key with countersign keygen", path)
        return cls(public_key(private.public_key().public_bytes_raw()), private)

    def sign(self, message: bytes) -> Signature:
        """A signature over exactly these bytes."""
        return Signature(self.public.keyid, self._private.sign(message))


def _key_bytes(path: Path) -> bytes:
    try:
        mode = path.stat().st_mode
        data = path.read_bytes()
    except OSError as problem:
        _refuse("key_unreadable", "a private key file that can be read", problem.strerror or "an error", "check the path and who may read it", path)
    open_to_others = stat.S_IMODE(mode) & (stat.S_IRWXG | stat.S_IRWXO)
    if open_to_others:
        _refuse("key_too_open", "a private key that its owner alone can read", f"permissions {stat.filemode(mode)}", "chmod 600 the file", path)
    return data


def _decrypted(data: bytes, passphrase: str, path: Path) -> object:
    try:
        load_ssh_private_key(data, None)
    except TypeError:
        pass  # it asks for a passphrase, as it should
    except (ValueError, UnsupportedAlgorithm):
        _refuse("not_a_key", "an OpenSSH private key", "something else", "name the private key file, not the .pub file", path)
    else:
        _refuse("key_not_encrypted", "an encrypted private key", "one without a passphrase", "set one: ssh-keygen -p -a 64 -f FILE", path)
    try:
        return load_ssh_private_key(data, passphrase.encode())
    except (ValueError, TypeError, UnsupportedAlgorithm):
        _refuse("wrong_passphrase", "the passphrase of this key", "one that does not open it", "type it again", path)
