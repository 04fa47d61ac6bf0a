"""[LZCW21] Liu, Zhu, Chaudhuri, Wang: Revisiting Model-Agnostic Private Learning."""

from __future__ import annotations

import math

from scipy import stats

from tacit import validation
from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument
from tacit.mechanisms import SparseVote
from tacit.planning.bounds.btt18 import SparseRunPlan
from tacit.planning.sparse_noise import teachers_for_distance


def stable_teachers(
    questions: int, cutoff: int, epsilon: float, delta: float, beta: float
) -> float:
    """Lemma 3: ``K = 136 log(4 l T/min(delta, beta/2)) sqrt(T log(2/delta))/epsilon``.

    Assumes that at most T questions have a margin below K/3. Then, with probability
    ``1 - beta``, the sparse vector answers all others with the plurality.

    Examples
    --------
    >>> round(stable_teachers(1000, 20, 1.0, 1e-5, 0.05))
    48454
    """
    validation.positive_integer(questions=questions)
    validation.positive_integer(cutoff=cutoff)
    validation.positive(epsilon=epsilon)
    validation.probability(delta=delta)
    validation.probability(beta=beta)
    spread = math.sqrt(cutoff * math.log(2 / delta)) / epsilon
    return 136 * math.log(4 * questions * cutoff / min(delta, beta / 2)) * spread


def disputed_questions(mistakes: int) -> int:
    """Lemma 4: at most ``3 B`` questions have a third of the teachers wrong.

    Assumes that no teacher makes more than B mistakes.
    """
    return 3 * validation.integer(0, mistakes=mistakes)


def hoeffding_cutoff(questions: int, error: float, n_teachers: int, beta: float) -> float:
    """Theorem 5: ``T = 3 (e m + sqrt(m log(K/beta)/2))``, e the expected error of a teacher.

    By Hoeffding no teacher makes more than a third of this many mistakes, with probability
    ``1 - beta``. Assumes independent questions. Departure: log(K/beta), for a union over the K
    teachers; the paper prints log(m/beta), which is enough only for K up to m.

    Examples
    --------
    >>> round(hoeffding_cutoff(1000, 0.01, 1000, 0.05), 1)
    241.1
    """
    validation.positive_integer(questions=questions)
    validation.probability(error=error)
    validation.positive_integer(n_teachers=n_teachers)
    validation.probability(beta=beta)
    spread = math.sqrt(questions * math.log(n_teachers / beta) / 2)
    return 3 * (error * questions + spread)


def margin_cutoff(questions: int, nu: float, gamma: float) -> float:
    """Proposition 18: ``T = nu m + sqrt(2 nu m log(3/gamma)) + (2/3) log(3/gamma)``.

    Bernstein: with probability ``1 - gamma/3`` no more of m independent questions have an
    expected margin of at most xi, when a share nu of all points has.

    Examples
    --------
    >>> round(margin_cutoff(1000, 0.01, 0.05), 2)
    21.78
    """
    mean = validation.fraction(nu=nu) * validation.positive_integer(questions=questions)
    extra = math.log(3 / validation.probability(gamma=gamma))
    return mean + math.sqrt(2 * mean * extra) + 2 / 3 * extra


def margin_teachers(
    questions: int, cutoff: int, xi: float, epsilon: float, delta: float, gamma: float
) -> float:
    """Proposition 18, corrected: teachers for which all but T questions are answered.

    ``K = max(2 log(3m/gamma)/xi^2, (6 lambda (log(4m/delta) + log(3m/gamma)) + 2)/xi)`` with the
    paper's lambda and threshold. The paper compares the margin with the threshold, but the
    algorithm compares ``ceil(margin/2) - 1``: lambda's term doubles, and 2 is added.

    Examples
    --------
    >>> round(margin_teachers(1000, 20, 0.3, 1.0, 1e-5, 0.05))
    27784
    """
    validation.positive_integer(questions=questions)
    validation.positive_integer(cutoff=cutoff)
    _margin(xi)
    validation.positive(epsilon=epsilon)
    log_delta = math.log(2 / validation.probability(delta=delta))
    log_gamma = math.log(3 * questions / validation.probability(gamma=gamma))
    scale = (
        math.sqrt(2 * cutoff * (epsilon + log_delta)) + math.sqrt(2 * cutoff * log_delta)
    ) / epsilon
    noise = 6 * scale * (math.log(4 * questions / delta) + log_gamma) + 2
    return max(2 * log_gamma / xi**2, noise / xi)


def sparse_run(questions: int, nu: float, xi: float, budget: Budget, gamma: float) -> SparseRunPlan:
    """Proposition 18 with tight constants: a run that answers all but T questions.

    With probability at least ``1 - gamma``, over records, questions and noise, at most T questions
    are refused or answered otherwise than by the infinite ensemble. T is the binomial quantile
    instead of Bernstein's bound, the noise is that of ``SparseVote.for_budget``.

    Assumes independent questions, teachers on independent records, and the (nu, xi)-approximate
    high-margin condition (Definition 17, which means P(margin <= xi) <= nu).

    Examples
    --------
    >>> run = sparse_run(1000, 0.01, 0.3, Budget(1.0, 1e-5), gamma=0.05)
    >>> run.mechanism.cutoff, run.promise
    (18, 0.95)
    """
    validation.positive_integer(questions=questions)
    validation.fraction(nu=nu)
    _margin(xi)
    third = validation.probability(gamma=gamma) / 3
    cutoff = int(stats.binom.isf(third, questions, nu)) + 1 if nu > 0 else 1
    if cutoff >= questions:
        raise InvalidArgument(f"`nu` must be smaller for {questions} questions, got {nu!r}.")
    mechanism = SparseVote.for_budget(budget, cutoff=cutoff)
    # Realised margins stay above K xi by Hoeffding, and half of the margin is the distance.
    hoeffding = math.ceil(2 * math.log(questions / third) / xi**2)
    noise = teachers_for_distance(mechanism, questions, third, per_teacher=xi / 2)
    return SparseRunPlan(mechanism, max(hoeffding, noise), 1 - gamma)


def _margin(xi: float) -> None:
    if not 0 < validation.finite(xi=xi) <= 0.5:
        raise InvalidArgument(f"`xi` must lie in (0, 1/2], got {xi!r}.")


def gaussian_teachers(n_records: int, answers: int, epsilon: float, delta: float) -> float:
    """Theorems 22 and 28: teachers for which Gaussian noise does no harm.

    ``K = 6 sqrt(log(2n)) (sqrt(l log(1/delta)) + sqrt(l log(1/delta) + eps l))/eps``, which is
    ``6 sigma sqrt(2 log(2n))`` for the sigma of Algorithm 1. Then a released label differs from
    h* at most three times as often as one teacher does, plus 1/n. The paper prints ``eps m`` and
    ``eps l`` outside the root.

    Examples
    --------
    >>> round(gaussian_teachers(20_000, 100, 1.0, 1e-5))
    1354
    """
    validation.positive_integer(n_records=n_records)
    validation.positive_integer(answers=answers)
    validation.positive(epsilon=epsilon)
    inner = answers * math.log(1 / validation.probability(delta=delta))
    roots = math.sqrt(inner) + math.sqrt(inner + epsilon * answers)
    return 6 * math.sqrt(math.log(2 * n_records)) * roots / epsilon


def noisy_label_error(disagreement: float, n_records: int) -> float:
    """Proof of Theorem 28: a released label differs from h* with at most this probability.

    ``3 Dis + 1/n``, Dis the mean disagreement of a teacher with h*; assumes the K of
    ``gaussian_teachers``.
    """
    share = validation.fraction(disagreement=disagreement)
    return min(1.0, 3 * share + 1 / validation.positive_integer(n_records=n_records))


def complexity(dimension: int, n: int, gamma: float) -> float:
    """The term that stands for a class in the bounds below: ``d ln(2 e n/d) + ln(4/gamma)``.

    Sauer's lemma on twice the sample. Lemma 36 prints ``d + log(4/gamma)`` and so drops the
    logarithm of n, without which the inequality is not known to hold.

    Examples
    --------
    >>> round(complexity(10, 1000, 0.05), 1)
    67.4
    """
    validation.positive_integer(dimension=dimension)
    validation.positive_integer(n=n)
    validation.probability(gamma=gamma)
    growth = dimension * math.log(2 * math.e * max(n, dimension) / dimension)
    return growth + math.log(4 / gamma)


def pointwise_error(seen: float, n: int, gamma: float) -> float:
    """Lemma 35: the error of one fixed hypothesis, from the share ``seen`` wrong on n points.

    The largest p with ``p <= seen + sqrt(2 p log(1/gamma)/n) + 2 log(1/gamma)/(3 n)``: Bernstein,
    with probability ``1 - gamma``.

    Examples
    --------
    >>> round(pointwise_error(0.1, 1000, 0.05), 4)
    0.1299
    """
    validation.positive_integer(n=n)
    extra = math.log(1 / validation.probability(gamma=gamma)) / n
    base = validation.non_negative(seen=seen) + 2 / 3 * extra
    # p - sqrt(2 p extra) - base = 0 is a quadratic equation for sqrt(p).
    root = (math.sqrt(2 * extra) + math.sqrt(2 * extra + 4 * base)) / 2
    return min(1.0, root**2)


def uniform_error(seen: float, dimension: int, n: int, gamma: float) -> float:
    """Lemma 36: the error of every hypothesis of a class at once, with probability ``1 - gamma``.

    ``seen + 2 sqrt(seen c/n) + 4 c/n`` with c of ``complexity``.

    Examples
    --------
    >>> round(uniform_error(0.0, 10, 1000, 0.05), 3)
    0.269
    """
    share = validation.non_negative(seen=seen)
    term = complexity(dimension, n, gamma) / n
    return min(1.0, share + 2 * math.sqrt(share * term) + 4 * term)


def learning_error(best: float, dimension: int, n: int, gamma: float) -> float:
    """Lemma 37: the error of the empirical risk minimiser, with probability ``1 - gamma``.

    ``e + 2 sqrt(e c/n) + 4 c/n`` with c of ``complexity`` and e the least error in the class. The
    paper prints ``d log n + log(4/gamma)`` for c.

    Examples
    --------
    >>> round(learning_error(0.1, 10, 10_000, 0.05), 3)
    0.196
    """
    share = validation.non_negative(best=best)
    term = complexity(dimension, n, gamma) / n
    return min(1.0, share + 2 * math.sqrt(share * term) + 4 * term)


def student_excess(cutoff: int, questions: int, dimension: int, gamma: float) -> float:
    """Proof of Theorem 10: the student's excess error, ``4 T/m + 5 c/m``.

    Assumes that h* is in the class and that all but T of the m labels are those of h* (Lemma 15);
    holds with probability ``1 - gamma`` for an empirical risk minimiser. c is ``complexity``.

    Examples
    --------
    >>> round(student_excess(20, 10_000, 5, 0.05), 4)
    0.0334
    """
    validation.integer(0, cutoff=cutoff)
    term = complexity(dimension, questions, gamma) / questions
    return min(1.0, 4 * cutoff / questions + 5 * term)


def voting_student_excess(
    cutoff: int, questions: int, n_teachers: int, dimension: int, gamma: float
) -> float:
    """Theorem 20: excess error, against the infinite ensemble, of a student that is a vote.

    ``4 T/m + 5 c/m``, c for the dimension K d of votes of K hypotheses. Assumes the conditions of
    ``sparse_run``; holds with probability ``1 - 2 gamma``.
    """
    validation.positive_integer(n_teachers=n_teachers)
    return student_excess(cutoff, questions, n_teachers * dimension, gamma)


def voting_wins(n_teachers: int, advantage: float) -> float:
    """Example 2: a vote without noise is wrong with probability at most ``exp(-2 K xi^2)``.

    Assumes that a teacher errs with probability at most ``1/2 - advantage`` on the point.

    Examples
    --------
    >>> round(voting_wins(100, 0.2), 6)
    0.000335
    """
    validation.positive_integer(n_teachers=n_teachers)
    _margin(advantage)
    return math.exp(-2 * n_teachers * advantage**2)


def voting_fails() -> tuple[float, float]:
    """Example 1: error of each of three hypotheses on four points, and of their vote.

    Examples
    --------
    >>> voting_fails()
    (0.5, 0.75)
    """
    votes = ((1, 1, 0, 0), (1, 0, 1, 0), (1, 0, 0, 1))
    right = [sum(column) >= 2 for column in zip(*votes, strict=True)]
    return sum(1 - vote for vote in votes[0]) / 4, right.count(False) / 4


def pool_worth_labelling(dimension: int, n_records: int, epsilon: float, tau: float = 1.0) -> float:
    """Remark 12: how many labels balance the two terms of Theorem 10, up to constants and logs.

    ``(d^(4 - 5 tau) (n eps)^(2 tau))^(1/(4 - 2 tau))``. With more public points, ask about a
    random part of them; with fewer, about all.

    Examples
    --------
    >>> round(pool_worth_labelling(10, 10_000, 1.0))
    3162
    """
    validation.positive_integer(dimension=dimension)
    validation.positive_integer(n_records=n_records)
    scaled = n_records * validation.positive(epsilon=epsilon)
    if not 0 < validation.finite(tau=tau) <= 1:
        raise InvalidArgument(f"`tau` must lie in (0, 1], got {tau!r}.")
    inner: float = dimension ** (4 - 5 * tau) * scaled ** (2 * tau)
    return float(inner ** (1 / (4 - 2 * tau)))
