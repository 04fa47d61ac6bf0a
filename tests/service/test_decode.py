"""Whatever bytes come in, the decoder gives points or a problem; nothing else."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tacit.data import PointReader, Schema
from tacit.service.decode import decode
from tacit.service.problems import Problem

NUMBERS = PointReader(Schema.of_numbers(2), missing=False)
GAPS = PointReader(Schema.of_numbers(2), missing=True)
TEXTS = PointReader(Schema.of_texts(), missing=False)
OBJECTS = PointReader(Schema.infer(np.array([["a", 1]], dtype=object)), missing=False)

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
NEARLY = st.fixed_dictionaries(
    {},
    optional={
        "points": st.lists(st.lists(ANY_JSON, max_size=3), max_size=4) | ANY_JSON,
        "point": ANY_JSON,
        "extra": ANY_JSON,
    },
)


def readers() -> list[PointReader]:
    found = [NUMBERS, GAPS, TEXTS, OBJECTS]
    try:
        import pandas as pd
    except ImportError:
        return found
    frame = pd.DataFrame({"age": [1.0], "side": pd.Categorical(["up"], ["up", "down"])})
    plain = pd.DataFrame({"age": [1.0], "height": [2.0]})
    return [*found, PointReader(Schema.infer(frame), missing=False),
            PointReader(Schema.infer(plain), missing=True)]  # fmt: skip


READERS = readers()


def check(body: bytes, reader: PointReader) -> None:
    try:
        questions = decode(body, reader, most=3)
    except Problem as problem:
        assert 400 <= problem.kind.status < 500
        assert problem.response().status_code == problem.kind.status
    else:
        assert 1 <= len(questions) <= 3
        assert all(len(name) == 32 for name in questions.keys)


@pytest.mark.parametrize("reader", READERS, ids=repr)
@given(body=st.binary(max_size=200))
def test_any_bytes(body: bytes, reader: PointReader) -> None:
    check(body, reader)


@pytest.mark.parametrize("reader", READERS, ids=repr)
@given(found=NEARLY)
@example(found={"point": "\ud800"})
@example(found={"points": [["\udfff", 2**70]]})
@example(found={"points": [[1e308, -1e308]]})
def test_nearly_right_json(found: Any, reader: PointReader) -> None:
    check(json.dumps(found).encode(), reader)


def test_right_points_of_every_form() -> None:
    assert decode(b'{"point": [1, 2]}', NUMBERS, most=1).points.tolist() == [[1.0, 2.0]]
    assert np.isnan(decode(b'{"point": [null, 2]}', GAPS, most=1).points[0, 0])
    assert decode(b'{"points": ["x", "y"]}', TEXTS, most=2).points == ["x", "y"]
    if len(READERS) > 4:
        frame = decode(b'{"points": [{"side": "up", "age": 3}]}', READERS[4], most=1).points
        assert frame["age"].tolist() == [3.0] and frame["side"].tolist() == ["up"]
        for body in (b'{"point": {"side": "left", "age": 3}}', b'{"point": {"age": 3}}'):
            with pytest.raises(Problem):
                decode(body, READERS[4], most=1)


def test_equal_points_have_equal_names() -> None:
    one = decode(b'{"points": [[1, 2], [1.0, 2e0]]}', NUMBERS, most=2)
    assert one.keys[0] == one.keys[1]
