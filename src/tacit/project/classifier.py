"""A PATEClassifier whose fit can be interrupted and taken up again."""

from __future__ import annotations

from typing import Any, Self

from tacit.errors import InvalidArgument
from tacit.estimators.classifier import PATEClassifier
from tacit.estimators.pipeline import RunState
from tacit.noise import NoiseSource
from tacit.project.runs import RunFolder


class ProjectClassifier(PATEClassifier):
    """``PATEClassifier`` on a run of a project.

    Sharding, training, the plan on the ledger and the choice of questions are those of the earlier
    attempts, so a fit that was interrupted resumes: nothing is paid twice, and every question has
    the answer that the ledger recorded.
    """

    input_assumptions: tuple[str, ...] = ()
    """What the guarantee also rests on for how private files were read, in sentences. Public."""

    def on(self, run: RunFolder) -> Self:
        """Return this classifier, to be fitted on a run that was entered."""
        self.random_state = run.seed
        self._folder = run
        return self

    def _run_state(self, noise: NoiseSource) -> RunState:
        run: RunFolder | None = self.__dict__.get("_folder")
        if run is None:
            raise InvalidArgument("A ProjectClassifier is fitted on a run: call `on(run)` first.")
        return RunState(key=run.key, hash_key=run.hash_key, votes=run.votes)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_folder", None)
        return state
