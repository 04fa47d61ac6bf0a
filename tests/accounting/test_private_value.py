"""A PrivateValue gives its content to nobody who did not ask for it loudly."""

import copy
import dataclasses
import io
import json
import logging
import math
import operator
import pickle
import traceback

import numpy as np
import pytest

from tacit.accounting.vote_dependent.private_value import PrivateValue
from tacit.errors import PrivateValueError, TacitError

SECRET = 123456.789

REFUSED = {
    "float": float,
    "int": int,
    "complex": complex,
    "index": operator.index,
    "bool": bool,
    "bytes": bytes,
    "round": round,
    "floor": math.floor,
    "ceil": math.ceil,
    "len": len,
    "iter": list,
    "hash": hash,
    "eq": lambda v: v == SECRET,
    "eq_reflected": lambda v: SECRET == v,
    "eq_self": lambda v: v == v,
    "ne": lambda v: v != SECRET,
    "lt": lambda v: v < 1,
    "gt_reflected": lambda v: 1 > v,
    "in": lambda v: v in [SECRET],
    "contains": lambda v: SECRET in v,
    "getitem": lambda v: v[0],
    "add": lambda v: v + 1,
    "radd": lambda v: 1 + v,
    "mul": lambda v: 2.0 * v,
    "neg": operator.neg,
    "abs": abs,
    "asarray": np.asarray,
    "array_float": lambda v: np.array([v], dtype=float),
    "numpy_scalar": lambda v: np.float64(1.0) + v,
    "ufunc": np.exp,
    "numpy_function": np.sum,
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "setattr": lambda v: setattr(v, "other", 1),
    "sorted": lambda v: sorted([v, v]),
    "fsum": lambda v: math.fsum([v]),
    "percent": lambda v: operator.mod("%f", v),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("content", [SECRET, np.full(3, SECRET)], ids=["number", "array"])
def test_every_way_out_but_one_raises_and_shows_nothing(name, content):
    with pytest.raises(PrivateValueError) as caught:
        REFUSED[name](PrivateValue(content))
    assert "123456" not in "".join(traceback.format_exception(caught.value))


def test_json_refuses_without_the_value():
    with pytest.raises(TypeError) as caught:
        json.dumps({"epsilon": PrivateValue(SECRET)})
    assert "123456" not in str(caught.value)


def test_text_hides_the_value():
    value = PrivateValue(SECRET)
    shown = [repr(value), str(value), f"{value}", f"{value:.3f}", f"{value!r}", f"{[value]}"]
    assert all("123456" not in text for text in shown)


def test_logging_and_dataclasses_hide_the_value():
    @dataclasses.dataclass
    class Holder:
        cost: PrivateValue

    stream = io.StringIO()
    logger = logging.Logger("test")
    logger.addHandler(logging.StreamHandler(stream))
    logger.warning("cost %s of %r", PrivateValue(SECRET), Holder(PrivateValue(SECRET)))
    assert "hidden" in stream.getvalue()
    assert "123456" not in stream.getvalue()
    with pytest.raises(PrivateValueError):
        dataclasses.asdict(Holder(PrivateValue(SECRET)))


def test_vars_and_dir_do_not_hold_the_value():
    with pytest.raises(TypeError):
        vars(PrivateValue(SECRET))


def test_reveal_unsafe_gives_the_value():
    assert PrivateValue(SECRET).reveal_unsafe() == SECRET


def test_the_error_is_ours_and_a_type_error():
    assert issubclass(PrivateValueError, TacitError)
    assert issubclass(PrivateValueError, TypeError)
