"""The representation of the pool: learnt from public points, total on private ones."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from tacit import PoolRepresentation
from tacit.errors import InvalidArgument

RNG = np.random.default_rng(0)
POOL = RNG.normal(size=(50, 4)) * [1.0, 2.0, 3.0, 100.0]


def test_rows_have_the_asked_length_on_average_and_are_clipped():
    found = PoolRepresentation(scale=5.0).fit(POOL)
    lengths = np.linalg.norm(found.transform(POOL), axis=1)
    assert lengths.mean() == pytest.approx(5.0, rel=0.05)
    assert np.linalg.norm(found.transform(POOL * 1e6), axis=1).max() <= 10.0 + 1e-9


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, 1e308])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_a_private_row_changes_no_other_and_raises_nothing(odd, form):
    found = PoolRepresentation().fit(form(POOL))
    private = RNG.normal(size=(6, 4))
    changed = private.copy()
    changed[2, 1] = odd
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        one, other = found.transform(form(private)), found.transform(form(changed))
    assert np.isfinite(other).all()
    kept = [0, 1, 3, 4, 5]
    assert np.array_equal(one[kept], other[kept])


def test_texts_and_frames():
    texts = ["a good film", "a bad film", "what a good book", "a bad book"]
    found = PoolRepresentation().fit(texts)
    assert found.transform(["words never seen", "a good film"]).shape[0] == 2
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"n": [1.0, 2.0, np.nan, 4.0], "c": ["x", "y", "x", "y"]})
    coordinates = PoolRepresentation().fit(frame)
    unseen = pd.DataFrame({"n": [np.inf, 2.0], "c": ["z", "x"]}).replace(np.inf, np.nan)
    assert np.isfinite(coordinates.transform(unseen)).all()


def test_objects_are_encoded_by_category():
    pool = np.array([["x", "u"], ["y", "u"], ["x", "v"]], dtype=object)
    found = PoolRepresentation().fit(pool)
    assert np.isfinite(found.transform(np.array([["new", "u"]], dtype=object))).all()


def test_fitting_twice_gives_the_same():
    one, other = PoolRepresentation().fit(POOL), PoolRepresentation().fit(POOL)
    assert np.array_equal(one.transform(POOL), other.transform(POOL))


@pytest.mark.parametrize(
    "settings", [{"n_components": 0}, {"scale": 0.0}, {"flatten": 1.5}, {"scale": float("nan")}]
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(InvalidArgument):
        PoolRepresentation(**settings).fit(POOL)


def test_one_point_is_too_few():
    with pytest.raises(InvalidArgument, match="two public points"):
        PoolRepresentation().fit(POOL[:1])
