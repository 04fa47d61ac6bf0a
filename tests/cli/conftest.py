"""Two CSV files and a project, as a new user has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from tacit.cli.main import cli


@dataclass
class Desk:
    """A project folder with files in it, and the command line."""

    folder: Path

    def __call__(self, *words: object, **options: Any) -> Result:
        result = CliRunner().invoke(cli, [str(word) for word in words], **options)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def put(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def words(self, verb: str = "fit", *more: object, **changed: object) -> list[str]:
        """Return a command that works, with options changed; None leaves one out."""
        options: dict[str, object] = {
            "public": self.folder / "pool.csv",
            "project": self.folder,
            "label": "ill",
            "classes": "no,yes",
            "dataset": "patients",
            "epsilon": 1,
            "delta": "1e-5",
            "n-teachers": 20,
            "learner": "tree",
            "out": self.folder / ("model.tacit" if verb == "fit" else "labels.csv"),
            **{name.replace("_", "-"): value for name, value in changed.items()},
        }
        private = options.pop("private", self.folder / "patients.csv")
        found = [verb] if private is None else [verb, str(private)]
        for name, value in options.items():
            if value is not None:
                found += [f"--{name}", str(value)]
        return [*found, "--yes", *(str(word) for word in more)]

    def fit(self, *more: object, **changed: object) -> Result:
        return self(*self.words("fit", *more, **changed))


def table(n: int, rng: np.random.Generator, *, labelled: bool) -> str:
    age, sex = rng.integers(18, 90, size=n), rng.choice(["f", "m"], size=n)
    ill = np.where(age + 10 * (sex == "m") > 55, "yes", "no")
    lines = ["person,age,sex,ill" if labelled else "age,sex"]
    for k in range(n):
        lines.append(f"p{k},{age[k]},{sex[k]},{ill[k]}" if labelled else f"{age[k]},{sex[k]}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a project with a data set, private records and a pool."""
    rng = np.random.default_rng(0)
    found = Desk(tmp_path)
    found.put("patients.csv", table(600, rng, labelled=True))
    found.put("pool.csv", table(60, rng, labelled=False))
    made = found("init", tmp_path, "--dataset", "patients", "--epsilon", 3, "--delta", "1e-4")
    assert made.exit_code == 0, made.output
    return found
