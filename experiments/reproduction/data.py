"""The data sets of the reproduction, each as one two-class problem."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from tacit.data.sets import Labelled, load_two_classes
from tacit.data.sets.synthetic import LogisticModel
from tacit.errors import DataUnavailable

from .published import TABLE_3

DATA = ("mushrooms", "a9a", "real-sim", "newsgroups", "generated")
"""real-sim is the user's to bring; newsgroups stands in for it; generated is for a quick try."""


def load(name: str, path: Path | None = None) -> Labelled:
    """Return a data set with labels 0 and 1.

    Parameters
    ----------
    path : Path, optional
        Where real-sim is: the LIBSVM file, plain or as ``.bz2``. By default it is looked for in
        ``TACIT_DATA_DIR``.
    """
    if name == "real-sim":
        return _real_sim(path)
    if name == "generated":
        rng = np.random.default_rng(5)
        X, y = LogisticModel(5, 6.0, rng=rng).draw(3_000, rng)
        return Labelled(X, y)
    return load_two_classes(name)


def _real_sim(path: Path | None) -> Labelled:
    folder = os.environ.get("TACIT_DATA_DIR")
    places = [Path(folder) / name for name in ("real-sim.bz2", "real-sim")] if folder else []
    found = next((place for place in ([path] if path else places) if place.is_file()), None)
    if found is None:
        looked = (
            ", ".join(map(str, [path] if path else places)) or "nowhere: TACIT_DATA_DIR is unset"
        )
        raise DataUnavailable(
            f"real-sim is not on this machine (looked at {looked}). Fetch it from the LIBSVM data "
            "collection and give its place with --path."
        )
    n, width = TABLE_3["real-sim"][0], TABLE_3["real-sim"][-1]
    try:
        X, y = load_svmlight_file(str(found), n_features=width)
    except (ValueError, OSError) as error:
        raise DataUnavailable(f"{found} is not a LIBSVM file of real-sim: {error}") from error
    if X.shape[0] != n:
        raise DataUnavailable(f"{found} must hold the {n} rows of real-sim, got {X.shape[0]}.")
    return Labelled(X, (y > 0).astype(np.int64))
