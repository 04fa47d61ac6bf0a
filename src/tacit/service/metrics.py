"""Metrics for Prometheus: requests of this worker, and public totals of the oracle."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tacit.estimators.oracle.private_oracle import PrivateOracle

# Coarse on purpose: they are for overload, and nobody should time single answers with them.
_SECONDS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0)
_BEYOND = 10.0


class Metrics:
    """What ``/metrics`` shows. Totals of answers, refusals and charges come from the ledger."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "tacit_requests",
            "Requests to this worker.",
            ("route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "tacit_request_seconds",
            "Time to serve a request, rounded up to the next bound, this worker.",
            ("route",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._released = Gauge(
            "tacit_released",
            "Answers and refusals released so far.",
            ("outcome",),
            registry=self._registry,
        )
        self._charges = Gauge(
            "tacit_charges",
            "Charges of the plan: used so far, and the most there can be.",
            ("event", "kind"),
            registry=self._registry,
        )
        self._reserved = Gauge(
            "tacit_reserved_epsilon", "Epsilon of everything reserved.", registry=self._registry
        )

    def finished(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(_coarse(seconds))

    def text(self, oracle: PrivateOracle) -> bytes:
        """Return the metrics as Prometheus reads them."""
        tally, left = oracle.tally(), oracle.budget_left()
        self._released.labels("answered").set(tally.answered)
        self._released.labels("refused").set(tally.refused)
        for event, most in left.most.items():
            self._charges.labels(event.kind, "used").set(left.used.get(event, 0))
            self._charges.labels(event.kind, "most").set(most)
        self._reserved.set(left.guarantee.epsilon)
        return bytes(generate_latest(self._registry))


def _coarse(seconds: float) -> float:
    """Return a bound above the time: what is observed is also summed, and sums can be subtracted.

    Examples
    --------
    >>> _coarse(0.0123), _coarse(7.0)
    (0.05, 10.0)
    """
    return next((bound for bound in _SECONDS if seconds <= bound), _BEYOND)
