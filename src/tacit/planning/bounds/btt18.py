"""[BTT18] Bassily, Thakkar, Thakurta: Model-Agnostic Private Learning."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import stats

from tacit import validation
from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument
from tacit.mechanisms import SparseVote
from tacit.planning.sparse_noise import teachers_for_distance


def stability_needed(epsilon: float, delta: float, beta: float) -> float:
    """Theorem 2.5: a value this many changes away from instability is released.

    Assumes the threshold ``ln(1/delta)/epsilon`` of Theorem 2.4; then the value comes out with
    probability at least ``1 - beta``.

    Examples
    --------
    >>> round(stability_needed(1.0, 1e-5, 0.05), 2)
    14.51
    """
    validation.positive(epsilon=epsilon)
    validation.probability(delta=delta)
    validation.probability(beta=beta)
    return (math.log(1 / delta) + math.log(1 / beta)) / epsilon


def uncertain_points(mistakes: float, share: float) -> float:
    """Lemma 3.3: fewer points than this have more than ``share`` of all classifiers wrong.

    Assumes that no classifier makes more than ``mistakes`` mistakes on the points; ``share`` is in
    (0, 1/2]. A counting argument: nothing is random.

    Examples
    --------
    >>> round(uncertain_points(10, 1 / 3))
    30
    """
    validation.non_negative(mistakes=mistakes)
    if not 0 < validation.finite(share=share) <= 0.5:
        raise InvalidArgument(f"`share` must lie in (0, 1/2], got {share!r}.")
    return mistakes / share


def most_mistakes(questions: int, error: float, n_teachers: int, beta: float) -> int:
    """No teacher makes more mistakes than this, with probability at least ``1 - beta``.

    The step inside Theorem 3.2, with the binomial quantile at ``beta / n_teachers`` in place of
    the printed ``error m + sqrt(error m log(m/beta)/2)``, which is not a Chernoff bound: it is
    exceeded too often when ``error m`` is small. Assumes independent questions and teachers that
    err with probability at most ``error`` each.

    Examples
    --------
    >>> most_mistakes(1000, 0.01, n_teachers=5000, beta=0.05)
    26
    """
    validation.positive_integer(questions=questions)
    validation.probability(error=error)
    validation.positive_integer(n_teachers=n_teachers)
    validation.probability(beta=beta)
    return int(stats.binom.isf(beta / n_teachers, questions, error))


@dataclass(frozen=True)
class SparseRunPlan:
    """A run whose refusals stay within its cut-off, with a promised probability.

    Parameters
    ----------
    mechanism : SparseVote
        Its ``cutoff`` is T.
    n_teachers : int
        K: so many are enough.
    promise : float
        The run answers every question but T at most with at least this probability.
    """

    mechanism: SparseVote
    n_teachers: int
    promise: float


def sparse_run(questions: int, error: float, budget: Budget, beta: float) -> SparseRunPlan:
    """Theorem 3.2: cut-off T and number of teachers K for teachers of a known error.

    With probability at least ``1 - 2 beta`` over questions and noise, at most T of the questions
    are refused or answered wrongly, and the run does not stop early. T is three times what
    ``most_mistakes`` gives (Lemma 3.3 with a third); K makes the noise harmless where two thirds
    of the teachers are right.

    Assumes independent questions, and teachers whose errors (gamma + alpha in the paper) are all
    at most ``error``; how their mistakes depend on each other does not matter. Departures: binomial
    quantiles for T; the distance ``ceil(margin/2) - 1``, since the margin moves by 2; and the
    constants of ``SparseVote.for_budget``, which are tighter.

    Raises
    ------
    InvalidArgument
        When T would not be below the number of questions: the theorem then promises nothing.

    Examples
    --------
    >>> run = sparse_run(1000, 0.01, Budget(1.0, 1e-5), beta=0.05)
    >>> run.mechanism.cutoff, run.promise
    (81, 0.9)
    """
    n_teachers = 1
    while True:
        cutoff = max(1, 3 * most_mistakes(questions, error, n_teachers, beta))
        if cutoff >= questions:
            raise InvalidArgument(
                f"`error` must be smaller for {questions} questions, got {error!r}: the theorem "
                f"allows {cutoff} refusals, which is all of them."
            )
        mechanism = SparseVote.for_budget(budget, cutoff=cutoff)
        # A third of the teachers wrong leaves a margin of a third, and half of that as distance.
        needed = teachers_for_distance(mechanism, questions, beta, per_teacher=1 / 6)
        if needed <= n_teachers:
            return SparseRunPlan(mechanism, n_teachers, 1 - 2 * beta)
        n_teachers = needed


def printed_cutoff(questions: int, error: float, beta: float) -> float:
    """Theorem 3.2 as printed: ``T = 3 (e m + sqrt(e m log(m/beta)/2))``, e = gamma + alpha.

    For comparison; see ``most_mistakes`` for what is wrong with it.
    """
    mean = validation.probability(error=error) * validation.positive_integer(questions=questions)
    validation.probability(beta=beta)
    return 3 * (mean + math.sqrt(mean * math.log(questions / beta) / 2))


def printed_teachers(
    questions: int, cutoff: int, epsilon: float, delta: float, beta: float
) -> float:
    """Algorithm 2 as printed: ``k = 34 sqrt(2) lambda log(4 m T/min(delta, beta/2))``.

    With ``lambda = sqrt(32 T log(2/delta))/epsilon``.

    Examples
    --------
    >>> round(printed_teachers(1000, 20, 1.0, 1e-5, 0.05))
    96908
    """
    validation.positive_integer(questions=questions)
    validation.positive_integer(cutoff=cutoff)
    validation.positive(epsilon=epsilon)
    validation.probability(delta=delta)
    validation.probability(beta=beta)
    scale = math.sqrt(32 * cutoff * math.log(2 / delta)) / epsilon
    return 34 * math.sqrt(2) * scale * math.log(4 * questions * cutoff / min(delta, beta / 2))


def labelling_error(best: float, alpha: float) -> float:
    """Claim 4.1: the error of the private labels as a classifier, ``3 gamma + 7 alpha`` at most.

    ``best`` is gamma, the least error in the class. Assumes teachers that are (alpha, beta/k)-
    agnostic learners with beta at most alpha, and ``labelling_questions`` questions at least;
    holds with probability ``1 - 2 beta``.
    """
    return 3 * validation.non_negative(best=best) + 7 * validation.probability(alpha=alpha)


def labelling_questions(alpha: float, beta: float) -> float:
    """Claim 4.1: how many questions it assumes, ``4 log(1/(alpha beta))/alpha``.

    Examples
    --------
    >>> round(labelling_questions(0.05, 0.05))
    479
    """
    validation.probability(alpha=alpha)
    validation.probability(beta=beta)
    return 4 * math.log(1 / (alpha * beta)) / alpha


def student_error(alpha: float) -> float:
    """Proof of Theorem 4.2: the student's error in the realizable case, ``15 alpha`` at most.

    Assumes what ``labelling_error`` does, gamma = 0, and a student that is an (alpha, beta)-
    agnostic learner for the number of questions; holds with probability ``1 - 3 beta``. How many
    private records that takes is a rate (``tacit.planning.rates``).
    """
    return 15 * validation.probability(alpha=alpha)
