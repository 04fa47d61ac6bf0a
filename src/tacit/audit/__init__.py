"""What `tacit audit` and the contract tests need: predictable noise, contracts, measured losses.

Nothing here is secure, and nothing in the library imports it.
"""

from typing import Any

from tacit.audit.noise import ScriptedNoise, SeededNoise

__all__ = ["CheckFailed", "ScriptedNoise", "SeededNoise", "check_mechanism"]


def __getattr__(name: str) -> Any:
    # The contracts import every mechanism: loaded when they are asked for.
    if name in ("CheckFailed", "check_mechanism"):
        from tacit.audit import contracts

        return getattr(contracts, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
