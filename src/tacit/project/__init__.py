"""A folder with named private data sets, their lifetime budgets, and runs that can be resumed."""

from tacit.project.classifier import ProjectClassifier
from tacit.project.folder import DatasetAccount, Project
from tacit.project.learners import LEARNERS, learner_for
from tacit.project.runs import RunFolder

__all__ = ["LEARNERS", "DatasetAccount", "Project", "ProjectClassifier", "RunFolder", "learner_for"]
