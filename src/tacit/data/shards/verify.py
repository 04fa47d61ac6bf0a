"""Check shards as they are on disk: every identifier is in the file that its hash selects."""

from __future__ import annotations

import numpy as np

from tacit.data.identifiers import identifier_bytes, key_id, keyed_shards
from tacit.data.shards.folder import (
    HEADER,
    KEY,
    PLAN,
    ShardFolder,
    open_shards,
    read_key,
    shard_name,
)
from tacit.data.shards.progress import bar
from tacit.errors import DamagedFile
from tacit.files.atomic import PathLike
from tacit.files.private import PrivateDirectory


def verify_shards(path: PathLike, *, progress: bool | None = False) -> ShardFolder:
    """Check a finished folder of shards, one file at a time.

    Every file of the sharding is there and no other; the key is the one of the header; and every
    identifier hashes, under the key, to the shard it lies in. A hash has one value, so no
    identifier is in two files.

    Parameters
    ----------
    path : path
    progress : bool, optional
        Whether to show a bar; None: on a terminal only.

    Raises
    ------
    DamagedFile
        Names the first file that does not hold.
    """
    folder = open_shards(path)
    with PrivateDirectory(folder.path) as opened:
        key, names = read_key(opened), opened.names()
    if key_id(key) != folder.sharding.key_id:
        raise DamagedFile(f"The key in {str(folder.path)!r} is not the one of these shards.")
    expected = {HEADER, PLAN, KEY, *map(shard_name, range(folder.n_shards))}
    for name in sorted(names - expected):
        raise DamagedFile(f"{str(folder.path / name)!r} does not belong to these shards.")
    with bar("checking", folder.n_shards, progress) as update:
        for number in range(folder.n_shards):
            _check(folder, number, key)
            update(number + 1)
    return folder


def _check(folder: ShardFolder, number: int, key: bytes) -> None:
    folder.read(number)  # all of it can be read
    ids = {identifier_bytes(one) for one in folder.read_identifiers(number)}
    if np.any(keyed_shards(ids, folder.n_shards, key) != number):
        raise DamagedFile(
            f"{str(folder.path / shard_name(number))!r} holds a record of another shard."
        )
