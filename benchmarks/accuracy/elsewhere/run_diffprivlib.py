"""Fit diffprivlib's logistic regression; run by its own interpreter: ``run_diffprivlib.py FOLDER``.

It perturbs the objective [CMS11]: pure epsilon, replace-one neighbours, delta unused. Rows are at
most one long with the constant column in them and ``data_norm`` is 1: for other norms, and for
its own intercept, version 0.6.6 uses the norm where the proof needs its square.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from diffprivlib.models import LogisticRegression


class OnUnitRows(LogisticRegression):
    """Takes sparse rows too: clipping them, which it refuses to do, has nothing left to clip."""

    def _clip_to_norm(self, array: Any, clip: float) -> Any:
        return array


def matrix(arrays: Any, name: str) -> Any:
    if name in arrays:
        return arrays[name]
    parts = tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return sp.csr_matrix(parts, shape=tuple(arrays[f"{name}_shape"]))


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    tasks = json.loads((folder / "task.json").read_text())
    with np.load(folder / "arrays.npz") as found:
        arrays = dict(found)
    private, test = matrix(arrays, "private"), matrix(arrays, "test")
    answers = {}
    for number, task in enumerate(tasks):
        model = OnUnitRows(
            epsilon=task["epsilon"],
            data_norm=1.0,
            C=task["C"],
            fit_intercept=False,
            max_iter=task["max_iter"],
            random_state=task["seed"],
        ).fit(private, arrays["labels"])
        answers[f"task{number}"] = model.predict(test)
    np.savez(folder / "answer.npz", **answers)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
