"""Signing through an ssh-agent: the private key never enters this process.

The agent signs the DSSE encoding as it is (a plain Ed25519 key; a hardware ``sk-`` key signs something else and is not
used). Message numbers and layout: draft-miller-ssh-agent, in ``settings.json``.
"""
from __future__ import annotations

import os
import socket
import struct
from dataclasses import dataclass
from typing import Final, NoReturn

from core.errors import SignatureError
from core.persons.publickey import ALGORITHM, PublicKey, public_key, wire_string
from core.settings import SETTINGS
from core.signing.dsse import Signature

_PROTOCOL: Final = SETTINGS["ssh_agent"]
_LENGTH: Final = struct.Struct(">I")
_BYTE: Final = struct.Struct(">B")


def _refuse(code: str, expected: str, got: str, remedy: str) -> NoReturn:
    raise SignatureError(code, expected=expected, got=got, remedy=remedy)


class _Reader:
    """Reads the fields of one agent message."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        piece = self._data[self._at:self._at + count]
        if len(piece) != count:
            _refuse("agent_failed", "a whole answer from the ssh-agent", "one that is cut", "restart the agent")
        self._at += count
        return piece

    def byte(self) -> int:
        value: int = _BYTE.unpack(self.take(_BYTE.size))[0]
        return value

    def number(self) -> int:
        value: int = _LENGTH.unpack(self.take(_LENGTH.size))[0]
        return value

    def string(self) -> bytes:
        return self.take(self.number())


def _receive(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            _refuse("agent_failed", "an answer from the ssh-agent", "a closed connection", "restart the agent")
        data += piece
    return data


def _ask(request: bytes, answer: int) -> _Reader:
    path = os.environ.get("SSH_AUTH_SOCK")
    if not path:
        _refuse("no_agent", "a running ssh-agent", "SSH_AUTH_SOCK is not set", "start one, and add the key with ssh-add")
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_PROTOCOL["timeout_s"])
            connection.connect(path)
            connection.sendall(wire_string(request))
            length = _Reader(_receive(connection, _LENGTH.size)).number()
            if length > _PROTOCOL["max_message_bytes"]:
                _refuse("agent_failed", "a short answer from the ssh-agent", f"{length} bytes", "restart the agent")
            reader = _Reader(_receive(connection, length))
    except OSError as problem:
        _refuse("no_agent", "an ssh-agent that answers", problem.strerror or str(problem), "start one, and add the key with ssh-add")
    kind = reader.byte()
    if kind != answer:
        _refuse("agent_refused", "the ssh-agent to do as asked", f"message {kind}", "unlock it, add the key (ssh-add), or confirm its question")
    return reader


def agent_keys() -> list[tuple[PublicKey, str]]:
    """The Ed25519 keys that the agent holds, with their comments. Raises SignatureError ``no_agent`` and the like."""
    reader = _ask(_BYTE.pack(_PROTOCOL["request_identities"]), _PROTOCOL["identities_answer"])
    pairs = [(reader.string(), reader.string()) for _ in range(reader.number())]
    prefix = wire_string(ALGORITHM.encode())
    raw_keys = [(_Reader(blob[len(prefix):]).string(), comment) for blob, comment in pairs if blob.startswith(prefix)]
    return [(public_key(raw), comment.decode("utf-8", "replace")) for raw, comment in raw_keys]


@dataclass(frozen=True, slots=True)
class AgentSigner:
    """Signs with a key that an ssh-agent holds (``SSH_AUTH_SOCK``)."""

    public: PublicKey

    @classmethod
    def choose(cls, keyids: frozenset[str]) -> AgentSigner:
        """The agent's key among these fingerprints. Raises SignatureError ``key_not_in_agent``."""
        held = [key for key, _ in agent_keys()]
        for key in held:
            if key.keyid in keyids:
                return cls(key)
        wanted = " or ".join(sorted(keyids)) or "an enrolled key"
        _refuse("key_not_in_agent", f"an ssh-agent that holds {wanted}", f"one with {len(held)} other Ed25519 keys", "ssh-add the key file")

    def sign(self, message: bytes) -> Signature:
        """A signature over exactly these bytes."""
        request = _BYTE.pack(_PROTOCOL["sign_request"]) + wire_string(self.public.blob) + wire_string(message) + _LENGTH.pack(0)
        answer = _Reader(_ask(request, _PROTOCOL["sign_response"]).string())
        if answer.string() != ALGORITHM.encode():
            _refuse("agent_failed", f"an {ALGORITHM} signature", "another kind", "use a plain Ed25519 key")
        signature = answer.string()
        self.public.verify(signature, message)
        return Signature(self.public.keyid, signature)
