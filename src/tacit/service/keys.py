"""API keys: 256 random bits, of which only a salted hash is kept.

A key cannot be guessed, so a fast hash will do: there is nothing a dictionary could find. The salt
keeps equal keys, which do not occur, from being seen to be equal.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass

from tacit.noise import NoiseSource

_FORM = re.compile(r"tacit_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_PURPOSE = b"tacit-api-key"


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made. ``text`` is shown once and kept nowhere."""

    id: str
    text: str
    salt: bytes
    digest: bytes

    def __repr__(self) -> str:
        return f"NewKey({self.id!r})"


def make_key(noise: NoiseSource) -> NewKey:
    """Return a new key.

    Examples
    --------
    >>> from tacit.noise import SecureNoise
    >>> key = make_key(SecureNoise())
    >>> parts = split_key(key.text)
    >>> matches(parts[1], key.salt, key.digest)
    True
    """
    name = f"{noise.bits(64):016x}"
    secret = base64.urlsafe_b64encode(noise.bits(256).to_bytes(32)).rstrip(b"=").decode()
    salt = noise.bits(128).to_bytes(16)
    return NewKey(name, f"tacit_{name}_{secret}", salt, _digest(secret, salt))


def split_key(text: str) -> tuple[str, str] | None:
    """Return the public name and the secret of a key, None if it is no key."""
    match = _FORM.fullmatch(text)
    return None if match is None else (match[1], match[2])


def matches(secret: str, salt: bytes, digest: bytes) -> bool:
    """Return whether a secret is the one that was hashed, in constant time."""
    return hmac.compare_digest(_digest(secret, salt), digest)


def _digest(secret: str, salt: bytes) -> bytes:
    return hashlib.blake2b(secret.encode(), digest_size=32, salt=salt, person=_PURPOSE).digest()
