"""Key files and the ssh-agent, against real OpenSSH programs where they are installed."""
from __future__ import annotations

import os
import shutil
import socket
import stat
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from core.errors import SignatureError
from core.persons.publickey import parse_openssh
from core.settings import SETTINGS
from core.signing.agent import AgentSigner, agent_keys
from core.signing.dsse import pae, seal
from core.signing.keys import FileSigner, check_passphrase, make_key_file, slug

SSH = {name: shutil.which(name) for name in ("ssh-keygen", "ssh-agent", "ssh-add")}
needs_openssh = pytest.mark.skipif(None in SSH.values(), reason="OpenSSH is not installed")
PASSPHRASE = "correct horse battery"


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "ana.key"
    old = os.umask(0)                                  # the exact mode must not hang on the umask
    try:
        make_key_file(path, PASSPHRASE)
    finally:
        os.umask(old)
    return path


def refused(code: str) -> pytest.RaisesExc[SignatureError]:
    return pytest.raises(SignatureError, check=lambda error: error.code == code and error.exit_code == 5)


def test_made_private_and_signs(key_file: Path) -> None:
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    signer = FileSigner.open(key_file, PASSPHRASE)
    envelope = seal("application/x-test", b"payload", signer)
    envelope.verify(signer.public)
    assert envelope.signature.keyid == signer.public.keyid


def test_the_settings_hold_the_floors() -> None:
    assert SETTINGS["signing"]["kdf_rounds"] >= 64 and SETTINGS["signing"]["passphrase_characters"] >= 12


def test_the_file_states_its_derivation(key_file: Path) -> None:
    """OpenSSH's PROTOCOL.key: magic, cipher, kdf name, kdf options (salt, rounds)."""
    import base64
    blob = base64.b64decode("".join(key_file.read_text().splitlines()[1:-1]))
    assert blob.startswith(b"openssh-key-v1\x00")
    fields, at = [], 15
    for _ in range(3):
        size = struct.unpack(">I", blob[at:at + 4])[0]
        fields.append(blob[at + 4:at + 4 + size])
        at += 4 + size
    cipher, kdf, options = fields
    salt_size = struct.unpack(">I", options[:4])[0]
    assert cipher.startswith(b"aes256") and kdf == b"bcrypt"
    assert struct.unpack(">I", options[4 + salt_size:])[0] >= 64


def test_an_existing_file_is_never_overwritten(key_file: Path, tmp_path: Path) -> None:
    before = key_file.read_bytes()
    with refused("key_exists"):
        make_key_file(key_file, PASSPHRASE)
    assert key_file.read_bytes() == before
    target = tmp_path / "elsewhere"
    (tmp_path / "link").symlink_to(target)
    with refused("key_exists"):
        make_key_file(tmp_path / "link", PASSPHRASE)
    assert not target.exists()
    with refused("key_unwritable"):
        make_key_file(tmp_path / "no" / "folder", PASSPHRASE)


def test_passphrases() -> None:
    check_passphrase("a" * 12)
    for short in ("", "a" * 11, " " * 20, "a" * 6 + " " * 20):
        with refused("short_passphrase"):
            check_passphrase(short)


def test_short_passphrase_writes_nothing(tmp_path: Path) -> None:
    with refused("short_passphrase"):
        make_key_file(tmp_path / "key", "short")
    assert list(tmp_path.iterdir()) == []


def write_key(path: Path, data: bytes, mode: int = 0o600) -> Path:
    path.write_bytes(data)
    path.chmod(mode)
    return path


def test_opening_refuses(key_file: Path, tmp_path: Path) -> None:
    with refused("wrong_passphrase"):
        FileSigner.open(key_file, PASSPHRASE + "x")
    with refused("wrong_passphrase"):
        FileSigner.open(key_file, "")
    with refused("key_unreadable"):
        FileSigner.open(tmp_path / "absent", PASSPHRASE)
    with refused("key_too_open"):
        FileSigner.open(write_key(tmp_path / "open", key_file.read_bytes(), 0o640), PASSPHRASE)
    with refused("not_a_key"):
        FileSigner.open(write_key(tmp_path / "junk", b"ssh-ed25519 AAAA ana\n"), PASSPHRASE)
    plain = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    with refused("key_not_encrypted"):
        FileSigner.open(write_key(tmp_path / "plain", plain), PASSPHRASE)


def test_the_secret_is_not_shown(key_file: Path) -> None:
    signer = FileSigner.open(key_file, PASSPHRASE)
    assert "Private" not in repr(signer) and PASSPHRASE not in repr(signer)
    with pytest.raises(SignatureError) as caught:
        FileSigner.open(key_file, "some other passphrase")
    assert "some other passphrase" not in str(caught.value) and str(key_file.parent) not in str(caught.value)


@needs_openssh
def test_ssh_keygen_reads_our_file_and_we_read_its(key_file: Path, tmp_path: Path) -> None:
    shown = subprocess.run([str(SSH["ssh-keygen"]), "-y", "-P", PASSPHRASE, "-f", str(key_file)], capture_output=True, text=True, check=True).stdout
    assert parse_openssh(shown) == FileSigner.open(key_file, PASSPHRASE).public
    theirs = tmp_path / "theirs"
    subprocess.run([str(SSH["ssh-keygen"]), "-q", "-t", "ed25519", "-N", PASSPHRASE, "-f", str(theirs)], check=True)
    assert FileSigner.open(theirs, PASSPHRASE).public == parse_openssh(theirs.with_suffix(".pub").read_text())
    rsa = tmp_path / "rsa"
    subprocess.run([str(SSH["ssh-keygen"]), "-q", "-t", "rsa", "-N", PASSPHRASE, "-f", str(rsa)], check=True)
    with refused("unknown_key_type"):
        FileSigner.open(rsa, PASSPHRASE)


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A real ssh-agent in the foreground, ended by its own handle."""
    path = tmp_path / "agent.sock"
    process = subprocess.Popen([str(SSH["ssh-agent"]), "-D", "-a", str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()                          # printed once it listens
    monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
    yield path
    process.terminate()
    process.wait()
    process.stdout.close()


@needs_openssh
def test_a_real_agent_signs_the_envelope(agent: Path, tmp_path: Path) -> None:
    assert agent_keys() == []
    with refused("key_not_in_agent"):
        AgentSigner.choose(frozenset({"SHA256:none"}))
    for name, kind in (("other", "ecdsa"), ("mine", "ed25519")):
        subprocess.run([str(SSH["ssh-keygen"]), "-q", "-t", kind, "-N", "", "-C", "ana on laptop", "-f", str(tmp_path / name)], check=True)
        subprocess.run([str(SSH["ssh-add"]), "-q", str(tmp_path / name)], check=True, capture_output=True)
    public = parse_openssh((tmp_path / "mine.pub").read_text())
    assert agent_keys() == [(public, "ana on laptop")]
    signer = AgentSigner.choose(frozenset({public.keyid}))
    envelope = seal("application/x-test", b"payload", signer)
    public.verify(envelope.signature.sig, pae("application/x-test", b"payload"))
    subprocess.run([str(SSH["ssh-add"]), "-q", "-D"], check=True, capture_output=True)
    with refused("agent_refused"):
        signer.sign(b"anything")


def test_no_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with refused("no_agent"):
        agent_keys()
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "absent.sock"))
    with refused("no_agent"):
        agent_keys()


@pytest.mark.parametrize("answer", [b"", b"\x00\x00", b"\x00\x00\x00\x05\x0c", b"\xff\xff\xff\xff", b"\x00\x00\x00\x05\x0c\x00\x00\x00\x09"])
def test_an_agent_that_answers_nonsense(answer: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bad.sock"
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
    with refused("agent_failed"):
        agent_keys()
    thread.join()
    server.close()


def test_slug_is_never_a_path() -> None:
    assert slug("ana@example.org") == "ana-example-org"
    assert slug("../../etc/passwd") == "etc-passwd"
    assert slug("\u202e/..") == "unnamed" == slug("")
    assert len(slug("a" * 500)) <= 60
