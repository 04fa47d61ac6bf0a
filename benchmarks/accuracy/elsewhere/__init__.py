"""Peers that cannot share our environment: each has one of its own, made on first use.

A task goes over as ``task.json`` and ``arrays.npz`` in a folder, test predictions come back as
``answer.npz``; the program on the other side imports nothing from here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
PLACE = "TACIT_PEER_ENVIRONMENTS"
"""Names the folder for the environments; by default one beside the results, ignored by git."""


def environment(name: str) -> Path:
    """Return the interpreter of a peer's environment, which is made the first time.

    It is made anew when ``requirements-<name>.txt`` changes.
    """
    wanted = HERE / f"requirements-{name}.txt"
    place = Path(os.environ.get(PLACE, HERE / ".environments")) / name
    python, stamp = place / "bin" / "python", place / "made-from"
    digest = sha256(wanted.read_bytes()).hexdigest()
    if not (stamp.exists() and stamp.read_text() == digest):
        print(f"making the environment of {name}: once, some minutes", file=sys.stderr)
        venv.create(place, clear=True, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "-r", str(wanted)]
        subprocess.run(pip, check=True)
        stamp.write_text(digest)
    return python


def ask(
    name: str,
    private: Any,
    labels: NDArray[np.int64],
    test: Any,
    tasks: Sequence[Mapping[str, Any]],
) -> list[NDArray[np.int64]]:
    """Let a peer fit once per task on the same records; return its predictions of test points."""
    python = environment(name)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "task.json").write_text(json.dumps(list(tasks)))
        arrays = {"labels": labels, **_arrays("private", private), **_arrays("test", test)}
        np.savez(place / "arrays.npz", **arrays)
        program = HERE / f"run_{name}.py"
        done = subprocess.run([python, program, folder], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{name} failed:\n{done.stderr[-2000:]}")
        with np.load(place / "answer.npz") as answer:
            return [answer[f"task{number}"] for number in range(len(tasks))]


def _arrays(name: str, points: Any) -> dict[str, Any]:
    """Return a matrix as arrays; a sparse one as its three parts and its shape."""
    if not sp.issparse(points):
        return {name: points}
    csr = points.tocsr()
    return {
        f"{name}_data": csr.data,
        f"{name}_indices": csr.indices,
        f"{name}_indptr": csr.indptr,
        f"{name}_shape": np.array(csr.shape),
    }
