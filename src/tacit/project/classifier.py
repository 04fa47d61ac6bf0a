"""A PATEClassifier whose fit can be interrupted and resumed."""

from __future__ import annotations

from typing import Any, Self

from tacit.errors import InvalidArgument
from tacit.estimators.classifier import PATEClassifier
from tacit.estimators.methods import Corrections, Votes
from tacit.estimators.pipeline import RunState
from tacit.estimators.protection import InputKind
from tacit.noise import NoiseSource
from tacit.project.runs import RunFolder


class ProjectClassifier(PATEClassifier):
    """``PATEClassifier`` on a run of a project.

    Sharding, training, the plan on the ledger and the choice of questions are those of the earlier
    attempts, so an interrupted fit can be resumed: nothing is paid twice, and every question has
    the answer that the ledger recorded.
    """

    def on(
        self,
        run: RunFolder,
        *,
        method: Votes | Corrections | None = None,
        assumptions: tuple[str, ...] = (),
    ) -> Self:
        """Return this classifier, to be fitted on a run that was entered.

        Parameters
        ----------
        run : RunFolder
        method : Votes or Corrections, optional
            What ``method="auto"`` stands for, with settings of its own.
        assumptions : tuple of str
            What the guarantee also rests on for how private files were read. Public.
        """
        self.random_state = run.seed
        self._folder, self._given, self._assumptions = run, method, assumptions
        return self

    def _method(self, source: InputKind) -> Votes | Corrections:
        given: Votes | Corrections | None = self.__dict__.get("_given")
        return super()._method(source) if given is None else given

    def _run_state(self, noise: NoiseSource) -> RunState:
        run: RunFolder | None = self.__dict__.get("_folder")
        if run is None:
            raise InvalidArgument("A ProjectClassifier is fitted on a run: call `on(run)` first.")
        return RunState(run.key, run.hash_key, run.votes, self._assumptions)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        for name in ("_folder", "_given", "_assumptions"):
            state.pop(name, None)
        return state
