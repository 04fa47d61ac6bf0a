"""How teachers teach a student: objects that carry the settings of a method, and nothing else."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator


class Votes(BaseEstimator):  # type: ignore[misc]
    """Teachers vote on public points, and a student learns from the noisy votes.

    PATE with passive or active student queries ([LZCW21] Algorithms 3 and 5, [BTT18] Algorithm 3).
    Works for any learner and any student.

    Parameters
    ----------
    mechanism : "gaussian", "laplace", "confident", "exponential", "sparse", or a mechanism
        What releases the votes. A mechanism object brings its own noise; its price must fit.
    release : {"auto", "label", "share"}
        Labels, or noisy shares of the vote, which cost the same and carry more. "auto": shares with
        the default student, labels with any other.
    n_questions : int or "auto"
        How many points are asked about at most. "auto": by a closed rule on public sizes
        (``tacit.planning.rules``). ``tacit plan`` looks at evidence too.
    query : "auto", None, name or Strategy
        Who chooses the questions (``tacit.students.active``). None: points at random, all at once.
        "diverse-margin", "margin", "flip-weight", "yan-dbal", "random", or an object with
        ``select``: the student chooses a batch at a time, from what was released so far. Costs no
        privacy: the noise is fixed for ``n_questions`` answers before the first. "auto":
        "diverse-margin" for the default student of a linear learner and mechanisms that answer
        every question, else None.
    n_batches : int, default 15
        Batches of questions after the first, when ``query`` chooses them. Not used without a
        strategy: then everything is asked at once.
    noise_rule : function of (labels, size, even_sigma), optional
        Chooses the noise of every batch from the labels released so far, within the budget
        (``tacit.labeling.FilteredPoolLabeler``). Costs about a tenth more noise than a fixed one.
    refusals : {"unlabelled", "random"}
        What a refused point becomes: left out (or -1 for a semi-supervised student), or labelled at
        random as in the papers.

    Examples
    --------
    >>> Votes("laplace", n_questions=200)
    Votes(mechanism='laplace', n_questions=200)
    >>> Votes().set_params(n_questions=50).get_params()["n_questions"]
    50
    """

    def __init__(
        self,
        mechanism: Any = "gaussian",
        *,
        release: str = "auto",
        n_questions: int | str = "auto",
        query: Any = "auto",
        n_batches: int = 15,
        noise_rule: Any = None,
        refusals: str = "unlabelled",
    ) -> None:
        self.mechanism = mechanism
        self.release = release
        self.n_questions = n_questions
        self.query = query
        self.n_batches = n_batches
        self.noise_rule = noise_rule
        self.refusals = refusals


class Corrections(BaseEstimator):  # type: ignore[misc]
    """Teachers correct a linear student, in rounds of one noisy mean each.

    More accurate than votes where a linear model is (``docs/guide/rounds.md``). Takes the built-in
    teachers, or a learner with sample weights and scores.

    Parameters
    ----------
    rounds : int or "auto"
        How many corrections are released. "auto": by a closed rule.
    shard_size : int or "auto"
        About how many records a teacher has: public, or a guess, never counted on private records.
        It scales steps, so a size that is far off costs accuracy and no privacy. "auto": the number
        of records (or of people) over that of teachers where that is public; where it is not, 10
        for records in memory (``add-remove``) and 1,000 for shards in files.

    Examples
    --------
    >>> Corrections(rounds=20)
    Corrections(rounds=20)
    """

    def __init__(self, rounds: int | str = "auto", *, shard_size: int | str = "auto") -> None:
        self.rounds = rounds
        self.shard_size = shard_size
