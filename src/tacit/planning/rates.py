"""Bounds that are known only as rates, in one table with their exponents.

A rate is a product of powers; what it hides (constants, logarithms, the confidence) is not known.
Two rates can be compared as sizes grow; their values at one size mean nothing by themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from tacit import validation
from tacit.errors import InvalidArgument

Exponent = Callable[[Fraction], Fraction]


def _fixed(value: int | str) -> Exponent:
    power = Fraction(value)
    return lambda tau: power


@dataclass(frozen=True)
class RiskRate:
    """Excess error ``d^a theta^b/(n eps)^c``, or the pool's own limit when that is larger.

    Parameters
    ----------
    paper, statement : str
        Key and number.
    method : str
    setting : str
        "realizable", "noise condition" or "agnostic".
    dimension, records, disagreement : function of tau
        The exponents a, c and b: of the VC dimension, of one over (records times epsilon), and of
        the disagreement coefficient.
    pool : Fraction
        The error is not below ``(d/m)^pool`` for m public points.
    remark : str
        What the rate is relative to, where it is not h*.
    """

    paper: str
    statement: str
    method: str
    setting: str
    dimension: Exponent
    records: Exponent
    disagreement: Exponent
    pool: Fraction
    remark: str = ""

    def exponents(self, tau: float | Fraction = 1) -> tuple[Fraction, Fraction, Fraction]:
        """Return (a, c, b) at a noise parameter tau in (0, 1]."""
        exact = Fraction(tau).limit_denominator(10**6)
        if not 0 < exact <= 1:
            raise InvalidArgument(f"`tau` must lie in (0, 1], got {tau!r}.")
        return self.dimension(exact), self.records(exact), self.disagreement(exact)

    def at(
        self,
        n_records: float,
        *,
        epsilon: float = 1.0,
        dimension: float = 1.0,
        tau: float = 1.0,
        theta: float = 1.0,
        n_points: float | None = None,
    ) -> float:
        """Return the rate with all constants set to one; for comparing, never for promising.

        Examples
        --------
        >>> gaussian, *_, sparse, active = [r for r in RISK_RATES if r.setting == "realizable"]
        >>> sparse.at(10**6) < gaussian.at(10**6)
        True
        """
        validation.positive(n_records=n_records)
        validation.positive(epsilon=epsilon)
        validation.positive(dimension=dimension)
        validation.positive(theta=theta)
        d, n, t = (float(power) for power in self.exponents(tau))
        value = dimension**d * theta**t / (n_records * epsilon) ** n
        if n_points is not None:
            pool = (dimension / validation.positive(n_points=n_points)) ** float(self.pool)
            value = max(value, pool)
        return float(value)


_NONE = _fixed(0)
_ONE, _HALF = Fraction(1), Fraction(1, 2)


def _scaled(power: Exponent, by: str) -> Exponent:
    factor = Fraction(by)
    return lambda tau: factor * power(tau)


def _gaussian_tnc(tau: Fraction) -> Fraction:
    return 2 * tau / (4 - tau)


def _fast_tnc(tau: Fraction) -> Fraction:
    return tau / (2 - tau)


RISK_RATES: tuple[RiskRate, ...] = (
    RiskRate("LZCW21", "Table 1, Theorem 28, Remark 29", "Gaussian noise", "realizable",
             _fixed(1), _fixed("2/3"), _NONE, _ONE),
    RiskRate("BTT18", "Theorem 4.2; LZCW21 Theorem 5, Remark 6", "sparse vector, first analysis",
             "realizable", _fixed(1), _fixed("2/3"), _NONE, _HALF),
    RiskRate("LZCW21", "Table 1, Theorem 10, Remarks 11 and 12", "sparse vector", "realizable",
             _fixed("3/2"), _fixed(1), _NONE, _ONE),
    RiskRate("LZCW21", "Table 1, Theorem 22", "active student, Gaussian noise", "realizable",
             _fixed("3/2"), _fixed(1), _fixed("1/2"), _ONE),
    RiskRate("LZCW21", "Theorem 28, Remark 29", "Gaussian noise", "noise condition",
             _scaled(_gaussian_tnc, "3/2"), _gaussian_tnc, _NONE, _ONE),
    RiskRate("LZCW21", "Theorem 10, Remark 12", "sparse vector", "noise condition",
             _scaled(_fast_tnc, "3/2"), _fast_tnc, _NONE, _ONE),
    RiskRate("LZCW21", "Theorem 22", "active student, Gaussian noise", "noise condition",
             _scaled(_fast_tnc, "3/2"), _fast_tnc, _scaled(_fast_tnc, "1/2"), _ONE),
    RiskRate("BTT18", "Theorem 4.3; LZCW21 Theorem 5, Remark 6", "sparse vector, first analysis",
             "agnostic", _fixed("3/5"), _fixed("2/5"), _NONE, _HALF,
             "on top of 13 times the least error in the class"),
)  # fmt: skip
"""Excess error of a student, with the number of teachers and of labels chosen for the bound."""


@dataclass(frozen=True)
class SampleRate:
    """Private records for error alpha: ``d^a/(alpha^b eps^c)``, up to constants and logarithms.

    ``questions`` is the exponent of the number of questions, where the bound grows with it.
    """

    paper: str
    statement: str
    what: str
    dimension: Fraction
    error: Fraction
    epsilon: Fraction
    questions: Fraction = Fraction(0)

    def at(
        self, alpha: float, *, epsilon: float = 1.0, dimension: float = 1.0, questions: float = 1.0
    ) -> float:
        """Return the rate with all constants set to one; for comparing, never for promising."""
        validation.probability(alpha=alpha)
        validation.positive(epsilon=epsilon)
        validation.positive(dimension=dimension)
        validation.positive(questions=questions)
        return float(
            dimension ** float(self.dimension)
            / alpha ** float(self.error)
            / epsilon ** float(self.epsilon)
            * questions ** float(self.questions)
        )


def _sample(
    paper: str,
    statement: str,
    what: str,
    d: int | str,
    a: int | str,
    e: int | str,
    q: int | str = 0,
) -> SampleRate:
    powers = (Fraction(d), Fraction(a), Fraction(e), Fraction(q))
    return SampleRate(paper, statement, what, *powers)


SAMPLE_RATES: tuple[SampleRate, ...] = (
    _sample("BTT18", "Theorem 3.4", "answers, realizable, to eps n/d questions", 1, 1, 1),
    _sample("NB20", "Lemma 3 (m alpha > 1)", "answers, realizable", 1, "1/2", 1, "1/2"),
    _sample("BTT18", "Theorem 3.5", "answers, agnostic, few questions", 1, 2, 1),
    _sample("NB20", "Lemma 4 (m alpha > 1)", "answers, agnostic", 1, "3/2", 1, "1/2"),
    _sample("NB20", "Theorem 7 (m alpha^3 < 1)", "answers, agnostic, least error kept", 1, 2, 1),
    _sample("NB20", "Theorem 7 (m alpha^3 > 1)", "answers, agnostic, least error kept",
            1, "1/2", 1, "1/2"),
    _sample("NB20", "Theorem 11", "any number of answers, agnostic, alpha < d^(-1/2)", 1, 2, 1),
    _sample("NB20", "Remark 12", "any number of answers, by the construction of BTT18",
            "3/2", 2, 1),
    _sample("BTT18", "Theorem 4.2", "student, realizable", "3/2", "3/2", 1),
    _sample("BTT18", "Remark 2", "student, realizable, empirical risk minimiser", "3/2", 1, 1),
    _sample("BTT18", "Remark 3", "student, realizable, efficient", 2, 1, 1),
    _sample("BTT18", "Theorem 4.3", "student, agnostic", "3/2", "5/2", 1),
    _sample("LZCW21", "Remark 11", "student, bounded noise", "3/2", 1, 1),
    _sample("DF20", "Theorem 1, Corollary 1", "one private prediction, agnostic", 1, 2, 1),
    _sample("DF20", "Theorem 2, first term", "one private prediction, agnostic", 2, 1, 1),
    _sample("DF20", "Theorem 2, second term", "one private prediction, agnostic", 1, 2, 0),
    _sample("DF20", "Lemma 6", "one private prediction, realizable", 1, 1, 1),
    _sample("BNS15", "Theorem 3.3", "labelled examples, semi-supervised, proper", 1, 3, 1),
    _sample("BNS15", "Theorem 4.2", "labelled examples, semi-supervised", 1, 1, 1),
    _sample("BNS15", "Theorem 4.4", "labelled examples, semi-supervised, agnostic", 1, 2, 1),
    _sample("BNS15", "Theorem 5.7", "labelled examples, private active learner", 1, 1, 0),
    _sample("BNS15", "Theorem C.12", "labelled examples, thresholds: a lower bound", 0, 1, 0),
)  # fmt: skip
"""Private (or labelled) records that are enough for error alpha."""


OTHER_RATES: tuple[tuple[str, str, str], ...] = (
    ("LZCW21", "Lemma 13", "a teacher differs from h* on (d K log n/n)^(tau/(2-tau)) of points"),
    ("LZCW21", "Lemma 14", "and so on m times as many of m questions, or log K"),
    ("LZCW21", "Lemma 15, Theorem 10", "T = (m^(2-tau) (d/(n eps))^tau)^(2/(4-3 tau))"),
    ("LZCW21", "Theorem 19", "2 T/m + (d/m)^(1/2) over the best fit of the infinite ensemble"),
    ("LZCW21", "Remark 21", "nu = (d K/n)^(tau/(2-tau)) at xi = 1/6 under the noise condition"),
    ("LZCW21", "Lemma 33", "active learner: d log(theta)/m + (e d log(theta)/m)^(1/2)"),
    ("LZCW21", "Lemma 38", "empirical risk minimiser: (d/n)^(1/(2-tau)) under the noise condition"),
    ("LZCW21", "Lemma 39", "labels of an active learner: theta (e^2/alpha^2 + log(1/alpha)) d"),
    ("DF20", "Lemma 1", "an alpha-net: d log(1/alpha)/alpha points"),
    ("DF20", "Lemma 3", "uniform convergence: d/alpha^2 examples"),
    ("BNS15", "Theorem A.3", "a sanitizer: d log|X| log(1/alpha)/(alpha^3 eps) records"),
    ("BNS15", "Lemma 3.4", "thresholds: labels independent of the domain, 8^(log* |X|) unlabelled"),
    ("BNS15", "Corollary 4.5", "rectangles in l dimensions: l labels, l^3 8^(log* |X|) unlabelled"),
    ("BNS15", "Corollary 4.6", "any class, improper: d labels, RepDim unlabelled, pure privacy"),
    ("BNS15", "Theorem C.11", "IterLabelBoost at eps = 1: d log(1/alpha)/alpha labels"),
)
"""Paper, statement, and the rate in words, for those that are no product of powers."""
