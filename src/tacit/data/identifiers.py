"""Whose record it is: identifiers as bytes, and the keyed hash that sends each to a shard.

Shards in memory and shards in files are made by this one hash, so a record is in the same shard
either way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tacit import validation
from tacit.errors import InvalidArgument

SHORTEST_KEY = 16


def identifier_bytes(canonical: str | None) -> bytes:
    """Return the bytes of an identifier's canonical text (``tacit.data.cells``).

    Records without a usable identifier count as one person's.
    """
    return b"s" + (canonical or "").encode("utf-8", "surrogatepass")


def keyed_shards(ids: Iterable[object], n_shards: int, key: bytes) -> NDArray[np.intp]:
    """Return the shard of each identifier: BLAKE2b under the key, modulo the number of shards.

    Identifiers are bytes, text or whole numbers, and the three kinds are distinct.
    """
    # Keyed once and copied: setting the key up is a third of the cost of a short hash.
    keyed = hashlib.blake2b(key=checked_key(key), digest_size=16, person=b"tacit-shard")

    def shard(identifier: object) -> int:
        state = keyed.copy()
        state.update(_tagged(identifier))
        # 128 bits, so that the remainder is uniform to within n_shards / 2**128.
        return int.from_bytes(state.digest()) % n_shards

    return np.fromiter(map(shard, ids), dtype=np.intp)


def checked_key(key: bytes) -> bytes:
    """Return a key of a length that hides it and that the hash takes."""
    validation.instance(bytes, key=key)
    if not SHORTEST_KEY <= len(key) <= hashlib.blake2b.MAX_KEY_SIZE:
        raise InvalidArgument(
            f"`key` must be {SHORTEST_KEY} to {hashlib.blake2b.MAX_KEY_SIZE} bytes; its value is "
            "secret and not shown."
        )
    return key


def key_id(key: bytes) -> str:
    """Return a public name of a key, from which the key cannot be found."""
    return hashlib.blake2b(key=checked_key(key), digest_size=8, person=b"tacit-key-id").hexdigest()


def _tagged(identifier: object) -> bytes:
    # Kinds are distinct: 1 and "1" are different people only if the caller gives them so.
    if isinstance(identifier, bytes):
        return b"b" + identifier
    if isinstance(identifier, str):
        return b"s" + identifier.encode()
    if isinstance(identifier, int | np.integer) and not isinstance(identifier, bool):
        return b"i%d" % int(identifier)
    raise InvalidArgument(
        f"`ids` must be bytes, text or whole numbers, got a {type(identifier).__name__}."
    )
