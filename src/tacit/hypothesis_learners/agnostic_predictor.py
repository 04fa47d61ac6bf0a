"""Private prediction for any data, with less loss than a flip alone would need.

Proof: ``docs/proofs/private_prediction.md``, claims 2 to 4.
"""

from __future__ import annotations

import math
from typing import Any

from tacit.accounting import prediction as prices
from tacit.accounting.amplification import largest_base_epsilon
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.growth import growth_bound
from tacit.hypothesis_learners.answering import PerQuestionLearner
from tacit.hypothesis_learners.realizable import teachers_for
from tacit.mechanisms.prediction import RelabelledPrediction

_NET_FAILURE = 1e-4
_SHARES = tuple(0.3 * 0.8**step for step in range(40))
# Part of epsilon left for 2a + b, which is tiny for any data set worth asking.
_REST = 0.02


class AgnosticPredictor(PerQuestionLearner):
    """Answers questions from private records alone: relabel, let teachers vote, flip rarely.

    Parameters
    ----------
    hypotheses : HypothesisClass
    epsilon, delta : float
        The budget of all answers together; each answer is pure.
    n_questions : int
    constants : {"practical", "paper"}
        ``paper``: the conditions of [DF20] Lemma 8 with a flip of alpha; refuses, with the size
        needed, when there are too few records. The guarantee is the one that holds for those
        settings: the paper's O(epsilon) hides a factor 4 e^6, so it exceeds ``epsilon``, and so
        does the account it opens for itself.
    alpha : float, optional
        For ``paper``.
    ledger, key
        As for ``PrivatePredictor``.

    Attributes
    ----------
    mechanism_ : RelabelledPrediction
        The settings in force. Public.
    guarantee_ : Budget
    privacy_ : PrivacyStatement

    Notes
    -----
    Privacy: neighbours ``replace``, one record. Event per answer: ``AgnosticPrediction``. The
    chance that a subset is no net is bounded for every data set, never measured on this one.
    Its error falls like 1/n, that of ``PrivatePredictor`` like 1/sqrt(n), but with far larger
    constants: for thresholds and epsilon 1 it is expected to be the better one only from several
    million records on.

    References
    ----------
    [DF20] Theorem 2 and Lemma 8.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.hypotheses import Thresholds
    >>> x = np.random.default_rng(0).random(3000)
    >>> private = AgnosticPredictor(Thresholds(), epsilon=3.0).fit(x, x >= 0.5)
    >>> private.guarantee_.epsilon <= 3.0
    True
    >>> private.predict([0.9]).tolist() in ([0], [1])
    True
    """

    mechanism_: RelabelledPrediction
    _paper_sets_guarantee = True

    def _chosen(
        self, n_records: int, epsilon: float, n_questions: int, alpha: float | None
    ) -> RelabelledPrediction:
        if alpha is None:
            return practical_rule(self.hypotheses, n_records, epsilon, n_questions)
        return paper_rule(
            self.hypotheses, n_records, epsilon=epsilon, alpha=alpha, n_questions=n_questions
        )


def practical_rule(
    hypotheses: HypothesisClass, n_records: int, epsilon: float, n_questions: int
) -> RelabelledPrediction:
    """Return the settings with the least expected error whose answers are ``epsilon``-private.

    Chosen from public numbers alone; the price is computed for what was chosen.
    """
    growth = growth_bound(hypotheses)
    best: RelabelledPrediction | None = None
    least = math.inf
    for share in _SHARES:
        subset = math.floor(share * n_records)
        if subset < 2 or n_records < 3:
            continue
        log_ratio = largest_base_epsilon(epsilon * (1 - _REST), subset=subset, records=n_records)
        if log_ratio <= math.log(4):
            continue
        rule = _rule(hypotheses, n_records, subset, log_ratio - math.log(4), epsilon, n_questions)
        if rule is None:
            continue
        strays = math.log(growth(subset)) / (rule.loss_rate * n_records)
        wrong = math.exp(-rule.vote_epsilon * rule.teachers / 6)
        excess = hypotheses.vc_dimension / subset + strays + wrong + rule.flip
        if excess < least:
            best, least = rule, excess
    if best is None:
        raise InvalidArgument(
            f"`X` must hold more records for an epsilon of {epsilon:.3g} per answer, got "
            f"{n_records}. Plan for fewer answers, or use PrivatePredictor."
        )
    return best


def _rule(
    hypotheses: HypothesisClass,
    n_records: int,
    subset: int,
    log_ratio: float,
    epsilon: float,
    n_questions: int,
) -> RelabelledPrediction | None:
    """Return the settings with this subset, where 2 a r + b r may use ``log_ratio``."""
    eta = prices.smallest_net(
        _NET_FAILURE, draws=subset - 1, population=n_records - 1, growth=growth_bound(hypotheses)
    )
    apart = math.floor(eta * (n_records - 1)) + 1
    rate = min(log_ratio / (3 * apart), epsilon * _REST / 3)
    most = max(1, n_records // (2 * (hypotheses.vc_dimension + 1)))
    settings: dict[str, Any] = {
        "loss_rate": rate,
        "vote_epsilon": rate,
        # A vote of two thirds may go wrong as rarely as other errors of so many records.
        "teachers": min(most, teachers_for(rate, min(0.01, 100 / n_records))),
        "eta": eta,
    }
    before = prices.agnostic_prediction(
        subset=subset, records=n_records, failure=_NET_FAILURE, **settings
    )
    flip = prices.smallest_flip(epsilon, epsilon=before.epsilon, delta=before.delta)
    if flip >= 0.5:
        return None
    return RelabelledPrediction(
        hypotheses,
        n_records,
        subset,
        net_failure=_NET_FAILURE,
        flip=flip,
        answers=n_questions,
        **settings,
    )


def paper_rule(
    hypotheses: HypothesisClass, n_records: int, *, epsilon: float, alpha: float, n_questions: int
) -> RelabelledPrediction:
    """Return the settings of [DF20] Lemma 8, or refuse with the number of records they need."""
    growth = growth_bound(hypotheses)
    needed = n_records
    # The conditions mention n on both sides; grow n until they hold.
    while (sizes := _paper_sizes(growth, needed, epsilon, alpha)) is None:
        needed = math.ceil(1.1 * needed) + 1
    if needed > n_records:
        raise InvalidArgument(
            f"`X` must hold about {needed} records for the constants of the paper at "
            f"alpha={alpha:g}, epsilon={epsilon:.3g} per answer, got {n_records}. Use "
            "constants='practical', or ask for less."
        )
    subset, eta = sizes
    rate = 1 / (eta * n_records)
    return RelabelledPrediction(
        hypotheses,
        n_records,
        subset,
        loss_rate=rate,
        vote_epsilon=rate,
        teachers=min(n_records, teachers_for(rate, alpha)),
        eta=eta,
        net_failure=alpha,
        flip=alpha,
        answers=n_questions,
    )


def _paper_sizes(
    growth: prices.Growth, n_records: int, epsilon: float, alpha: float
) -> tuple[int, float] | None:
    """Return n' and eta when the conditions of Lemma 8 hold for ``n_records``."""
    # n >= 2 ln(tau_n)/((2/(eta n)) alpha) is eta <= alpha / ln(tau_n).
    eta = alpha / math.log(max(growth(n_records), math.e))
    subset = prices.net_size(eta, alpha, growth=growth) + 1
    if subset <= epsilon * n_records and 1 / (eta * n_records) <= epsilon and subset <= n_records:
        return subset, eta
    return None
