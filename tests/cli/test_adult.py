"""UCI Adult as it comes, in one line with boosting and one with logistic regression."""

from __future__ import annotations

import bz2
from pathlib import Path
from typing import Any

import pytest

from tacit.data.sets.loaders import ADULT_COLUMNS

pytestmark = [pytest.mark.needs("data"), pytest.mark.needs("pandas")]


@pytest.mark.parametrize("learner", ["boosting", "logistic"])
def test_adult_in_one_line(desk: Any, data_dir: Path, learner: str) -> None:
    lines = bz2.open(data_dir / "adult.data.bz2", "rt").readlines()
    private = desk.put("adult.data", "".join(lines[:10_000]))
    pool = desk.put("pool.data", "".join(lines[10_000:10_300]))
    test = desk.put("test.data", "".join(lines[11_000:12_000]))
    done = desk.fit(
        "--json", private=private, public=pool, columns=",".join(ADULT_COLUMNS), label="income",
        classes="<=50K,>50K", learner=learner, n_teachers=125, drop="fnlwgt", epsilon=2,
        report=desk.folder / "report.json", check=test,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    from tacit.report import RunReport

    check = RunReport.from_json((desk.folder / "report.json").read_text()).check
    assert check is not None and check.n_points == 1000
    # Always answering <=50K is right on 76%; a guard against votes that mean nothing. There
    # are enough teachers that noise does not decide: with twice as much all of ten runs passed.
    assert check.accuracy > 0.7
