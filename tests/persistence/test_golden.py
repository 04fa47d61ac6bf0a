"""Files that earlier versions wrote still load, and say what they said then.

Everything in them was made from made-up numbers; ``make_golden.py`` wrote them.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import InconsistentVersionWarning

from tacit import load_student
from tacit.persistence import ensemble, load_ensemble, student

GOLDEN = Path(__file__).parent / "golden"
SAID = sorted(GOLDEN.glob("said-*.json"))

# scikit-learn warns of models that another of its versions wrote, which these will be.
pytestmark = pytest.mark.filterwarnings(
    f"ignore::{InconsistentVersionWarning.__module__}.{InconsistentVersionWarning.__name__}"
)


def test_every_format_that_is_read_has_a_golden_file():
    formats = {int(path.stem.removeprefix("said-")) for path in SAID}
    assert formats == {student.FORMAT_VERSION} == {ensemble.FORMAT_VERSION}


@pytest.mark.parametrize("path", SAID, ids=lambda path: path.stem)
def test_a_golden_student_says_what_it_said(path):
    said = json.loads(path.read_text())
    model = load_student(GOLDEN / f"student-{path.stem.removeprefix('said-')}.tacit")
    points = np.array(said["points"])
    assert model.predict(points).tolist() == said["labels"]
    np.testing.assert_allclose(model.predict_proba(points), said["probabilities"], rtol=1e-9)
    statement, report = model.privacy_.to_dict(), json.loads(model.report().to_json())
    assert json.loads(json.dumps(statement)) == said["statement"]
    # Fields that later versions added have their defaults.
    assert {name: report[name] for name in said["report"]} == said["report"]


@pytest.mark.parametrize("name", ["LogisticRegression", "RidgeClassifier"])
@pytest.mark.parametrize("path", SAID, ids=lambda path: path.stem)
def test_a_golden_ensemble_votes_as_it_did(path, name, tmp_path):
    said = json.loads(path.read_text())
    copy = tmp_path / "teachers"
    shutil.copytree(GOLDEN / f"{name}-{path.stem.removeprefix('said-')}", copy)
    # A repository does not keep these permissions.
    copy.chmod(0o700)
    for file in copy.iterdir():
        file.chmod(0o600)
    votes = load_ensemble(copy).count(np.array(said["points"])).private_array()
    assert votes.tolist() == said["votes"][name]
