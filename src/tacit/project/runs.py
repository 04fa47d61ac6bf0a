"""A run that another process can take up: its name on the ledger, its seed and its votes.

Trained shards are kept as what their teachers voted, in a folder that only its owner can read,
until the run has written its results. A run that is started again with the same settings finds its
folder: shards that did not change are not trained again, the plan is found on the ledger under the
same key and costs nothing more, and questions that were answered get the recorded answers.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from tacit.errors import DamagedFile, InvalidArgument, PersistenceError
from tacit.files.atomic import write_new
from tacit.files.private import DIRECTORY_MODE, FILE_MODE, PrivateDirectory
from tacit.noise import SecureNoise
from tacit.teachers.labels import IntArray

STATE = "run.json"
_TAG = 32


def run_name(dataset: str, settings: Mapping[str, Any]) -> str:
    """Return the name of the folder of a run: a hash of its public settings.

    Examples
    --------
    >>> run_name("patients", {"epsilon": 1.0}) == run_name("patients", {"epsilon": 1.0})
    True
    """
    content = json.dumps(settings, sort_keys=True, default=str).encode()
    return f"{dataset}.{hashlib.sha256(content).hexdigest()[:24]}.run"


class RunFolder:
    """One run's private folder, used by one process at a time.

    Parameters
    ----------
    folder : Path
        Made when the run is entered; what an interrupted run left there is taken up.
    fresh : bool, default False
        Remove what was left instead. What it reserved stays reserved.

    Attributes
    ----------
    resumed : bool
        Whether there was something to take up.
    key : str
        Name of the plan on the ledger.
    seed : int
        For sharding and training.
    hash_key : bytes
        Assigns people to shards. Private.
    votes : VoteFiles
        Private.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self._folder, self._fresh = folder, fresh
        self._lock: int | None = None
        self.resumed = False

    def __enter__(self) -> Self:
        try:
            self._lock = _locked(self._folder.with_suffix(".lock"))
            if self._fresh:
                self.discard()
            self.resumed = (self._folder / STATE).exists()
            if not self.resumed:
                self._start()
            PrivateDirectory(self._folder).close()
            self._read()
        except OSError as error:
            self._unlock()
            raise _not_written(error) from None
        except BaseException:
            self._unlock()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _start(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)  # killed before it was a run
        (self._folder / "votes").mkdir(mode=DIRECTORY_MODE, parents=True)
        self._folder.chmod(DIRECTORY_MODE)
        noise = SecureNoise()
        state = {
            "key": f"run-{noise.bits(128):032x}",
            "seed": noise.bits(31),
            "secret": f"{noise.bits(256):064x}",
        }
        _put(self._folder / STATE, json.dumps(state).encode(), sync=True)

    def _read(self) -> None:
        try:
            state = json.loads((self._folder / STATE).read_bytes())
            self.key, self.seed = str(state["key"]), int(state["seed"])
            secret = bytes.fromhex(state["secret"])
        except (ValueError, KeyError, TypeError):
            raise DamagedFile(
                "What an interrupted run left is damaged. Remove it with: tacit datasets discard"
            ) from None
        self.hash_key = hmac.digest(secret, b"shards", "sha256")
        self.votes = VoteFiles(self._folder / "votes", hmac.digest(secret, b"votes", "sha256"))

    def discard(self) -> None:
        """Remove everything that was stored: the results are written, or are not needed."""
        # The state goes first: what is left of a half-removed folder is not taken up.
        (self._folder / STATE).unlink(missing_ok=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __repr__(self) -> str:
        return "RunFolder(<private>)"


class VoteFiles:
    """Votes of trained teachers, one file per shard. Private.

    A file's tag covers the votes and the mark of the shard they were trained on, under a secret of
    the run: votes of a shard that changed, and damaged files, are not found. When a shard is
    trained again its file is replaced, and nothing is left of who was deleted.
    """

    def __init__(self, folder: Path, secret: bytes) -> None:
        self._folder, self._secret = folder, secret

    def load(self, number: int, mark: bytes) -> IntArray | None:
        """Return what the teacher of a shard voted, None when it is not known under this mark."""
        try:
            content = self._file(number).read_bytes()
        except OSError:
            return None
        tag, votes = content[:_TAG], content[_TAG:]
        if not hmac.compare_digest(tag, self._tag(number, mark, votes)):
            return None
        return np.frombuffer(votes, dtype="<i4").astype(np.int64)

    def save(self, votes: Mapping[int, tuple[bytes, IntArray]]) -> None:
        """Keep the votes of a few shards."""
        try:
            for number, (mark, cast) in votes.items():
                content = cast.astype("<i4").tobytes()
                _put(self._file(number), self._tag(number, mark, content) + content, sync=False)
        except OSError as error:
            raise _not_written(error) from None

    def _file(self, number: int) -> Path:
        return self._folder / f"{number:06d}.votes"

    def _tag(self, number: int, mark: bytes, votes: bytes) -> bytes:
        return hmac.digest(self._secret, b"%d:%d:" % (number, len(mark)) + mark + votes, "sha256")

    def __repr__(self) -> str:
        return "VoteFiles(<private>)"


def _put(file: Path, content: bytes, *, sync: bool) -> None:
    """Put a private file in its place, all of it or none."""
    unfinished = file.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        if sync:
            write_new(unfinished, content, mode=FILE_MODE)
        else:  # the tag detects damage by a power cut
            handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
            with os.fdopen(handle, "wb") as opened:
                opened.write(content)
        os.replace(unfinished, file)
    finally:
        unfinished.unlink(missing_ok=True)


def _locked(file: Path) -> int:
    handle = os.open(file, os.O_RDWR | os.O_CREAT, FILE_MODE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise InvalidArgument(
            "Another process is working on this very run. Wait for it, or stop it."
        ) from None
    return handle


def _not_written(error: OSError) -> PersistenceError:
    return PersistenceError(
        f"The project's folder of runs cannot be used: {os.strerror(error.errno or 0)}."
    )
