"""Write the golden files anew: only for a new format, beside the old ones, which stay."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from tacit import PATEClassifier, Votes, save_student
from tacit.persistence import save_ensemble, student
from tacit.teachers import equal_split, train_teachers


def main(folder: Path) -> None:
    """Write a student, an ensemble and what they say about some points."""
    rng = np.random.default_rng(0)
    X, points = rng.normal(size=(3000, 3)), rng.normal(size=(8, 3)).round(2)
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    clf = PATEClassifier(
        LogisticRegression(), epsilon=1.0, delta=1e-5, classes=["no", "yes"], method=Votes()
    )
    clf.fit(X, y, X_public=rng.normal(size=(60, 3)))
    version = student.FORMAT_VERSION
    save_student(clf, folder / f"student-{version}.tacit")
    said = {
        "points": points.tolist(),
        "labels": clf.predict(points).tolist(),
        "probabilities": clf.predict_proba(points).tolist(),
        "statement": clf.privacy_.to_dict(),
        "report": clf.report().to_dict(),
        "votes": {},
    }
    shards = equal_split(200, 5, rng)
    y[shards[1]] = "no"
    for learner in (LogisticRegression(), RidgeClassifier()):
        teachers = train_teachers(learner, X[:200], y[:200], shards, classes=["no", "yes"], seed=0)
        name = type(learner).__name__
        save_ensemble(teachers, folder / f"{name}-{version}")
        said["votes"][name] = teachers.count(points).private_array().tolist()
    (folder / f"said-{version}.json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
