"""The representation of the pool: learnt from public points, total on private ones."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tacit import PoolRepresentation
from tacit.data.representations.curved import CurvedFeatures
from tacit.data.representations.encoding import FrameEncoder
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
@pytest.mark.parametrize("curved", [False, True])
def test_a_private_row_changes_no_other_and_raises_nothing(odd, form, curved):
    found = PoolRepresentation(curved=curved).fit(form(POOL))
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
    table = pd.DataFrame({"n": [1.0, 2.0, np.nan, 4.0], "c": ["x", "y", "x", "y"]})
    coordinates = PoolRepresentation().fit(table)
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


# ---- coordinates in which a linear model bends -------------------------------------------------


def test_curved_coordinates_bend_and_linear_ones_do_not():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(3)
    pool, X = rng.normal(size=(300, 2)), rng.normal(size=(2000, 2))
    y = (X**2).sum(axis=1) > 1.4
    accuracy = {}
    for curved in (False, True):
        coordinates = PoolRepresentation(60, curved=curved).fit(pool)
        model = LogisticRegression(max_iter=1000).fit(coordinates.transform(X[:1500]), y[:1500])
        accuracy[curved] = model.score(coordinates.transform(X[1500:]), y[1500:])
    assert accuracy[False] < 0.7 and accuracy[True] > 0.9


def test_a_block_of_rows_has_the_coordinates_of_its_rows():
    found = PoolRepresentation(curved=True).fit(POOL)
    many = RNG.normal(size=(9000, 4))
    np.testing.assert_allclose(
        found.transform(many)[8000:], found.transform(many[8000:]), atol=1e-9
    )
    assert found.transform(many[:0]).shape == (0, found.directions_.shape[1])


def test_texts_and_wide_counts_stay_linear():
    texts = ["a good film", "a bad film", "what a good book", "a bad book"]
    assert PoolRepresentation(curved=True).fit(texts).curves_ is None
    wide = sparse.random(20, 5000, density=0.01, format="csr", random_state=0)
    assert PoolRepresentation(curved=True).fit(wide).curves_ is None


def test_many_columns_have_kernels_and_no_steps():
    pool = RNG.normal(size=(30, 400))
    assert len(CurvedFeatures().fit(pool).columns_) == 0


def test_equal_public_points_are_no_obstacle():
    assert np.isfinite(PoolRepresentation(curved=True).fit_transform(np.ones((5, 2)))).all()


# ---- data frames -------------------------------------------------------------------------------


def frame(n):
    rng = np.random.default_rng(n)
    return pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "ward": pd.Categorical(rng.choice(["a", "b"], n), categories=["a", "b", "c"]),
            "code": rng.choice(["x", "y"], n),
            "since": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "note": [f"word{k} seen again" for k in range(n)],
        }
    )


def test_every_kind_of_column_becomes_numbers():
    encoder = FrameEncoder().fit(frame(250))
    assert sorted(encoder.categories_) == ["code", "ward"] and list(encoder.words_) == ["note"]
    assert encoder.numbers_ == ["age", "since"]


@pytest.mark.parametrize("curved", [False, True])
def test_a_record_of_a_frame_changes_no_other(curved):
    found = PoolRepresentation(curved=curved).fit(frame(250))
    private = frame(40).astype({"note": object})
    odd = private.copy()
    odd.loc[7] = [np.nan, None, None, pd.NaT, "\ud800"]
    one, other = found.transform(private), found.transform(odd)
    assert np.isfinite(other).all()
    assert np.array_equal(np.delete(one, 7, axis=0), np.delete(other, 7, axis=0))
