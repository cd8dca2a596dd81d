"""A node's SSH identity, made here so that the caller knows the host key before the node has booted."""

from __future__ import annotations

from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat


@dataclass(frozen=True, kw_only=True, slots=True)
class HostKey:
    private: bytes  # OpenSSH format; goes into the node and nowhere else
    public: str  # "ssh-ed25519 AAAA..."


def generate() -> HostKey:
    key = Ed25519PrivateKey.generate()
    return HostKey(
        private=key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()),
        public=key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode(),
    )
