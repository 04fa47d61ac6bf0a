"""PrivateValue: a number that depends on the votes and has not been released.

The wrapper keeps such a number from getting out by accident: printing hides it, and converting,
comparing, hashing, iterating, copying or saving it raises `PrivateValueError`. It is a guard
against slips, not against a caller set on reading memory.
"""

from __future__ import annotations

from typing import Any, Generic, NoReturn, TypeVar, final

from tacit.errors import PrivateValueError

__all__ = ["PrivateValue", "PrivateValueError"]

T = TypeVar("T")

_HIDDEN = "PrivateValue(<hidden>)"


def _blocked(action: str) -> Any:
    def method(self: object, *args: object, **kwargs: object) -> NoReturn:
        raise PrivateValueError(
            f"a PrivateValue cannot be {action}: it depends on the votes. "
            "Release it with noise first (`release_epsilon`)."
        )

    return method


@final
class PrivateValue(Generic[T]):
    """Hold a vote-dependent number or array that has not been released.

    Parameters
    ----------
    value : object
        Private. Kept as it is; nothing but `reveal_unsafe` gives it back.

    Privacy
    -------
    Every implicit way out is closed: ``repr``, ``str``, f-strings and logging show a fixed text;
    ``float``, ``int``, ``bool``, ``==``, ``hash``, iteration, numpy conversion, JSON, pickle and
    copy raise `PrivateValueError` (JSON raises its own ``TypeError``, which names the type only).

    Examples
    --------
    >>> PrivateValue(1.25)
    PrivateValue(<hidden>)
    >>> float(PrivateValue(1.25))
    Traceback (most recent call last):
        ...
    tacit.errors.PrivateValueError: a PrivateValue cannot be converted to a number: it depends on \
the votes. Release it with noise first (`release_epsilon`).
    """

    __slots__ = ("__value",)
    __value: T

    def __init__(self, value: T) -> None:
        object.__setattr__(self, "_PrivateValue__value", value)

    def reveal_unsafe(self) -> T:
        """Return the private value itself: for release functions, audits and tests only.

        Privacy
        -------
        What comes back is not released and has no price. It must not reach a log, a report, a
        ledger, a stopping rule or a plan.
        """
        return self.__value

    def __repr__(self) -> str:
        return _HIDDEN

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return _HIDDEN

    __float__ = __int__ = __complex__ = __index__ = _blocked("converted to a number")
    __round__ = __trunc__ = __floor__ = __ceil__ = _blocked("rounded")
    __bool__ = _blocked("used as a condition")
    __bytes__ = _blocked("converted to bytes")
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _blocked("compared")
    __hash__ = _blocked("hashed")
    __iter__ = __next__ = __reversed__ = _blocked("iterated over")
    __len__ = __getitem__ = __contains__ = _blocked("indexed or measured")
    __array__ = __array_ufunc__ = __array_function__ = _blocked("converted to an array")
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _blocked("used in arithmetic")
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = _blocked("used in arithmetic")
    __neg__ = __pos__ = __abs__ = _blocked("used in arithmetic")
    __reduce__ = __reduce_ex__ = __getstate__ = _blocked("pickled or copied")
    __copy__ = __deepcopy__ = _blocked("pickled or copied")
    __setattr__ = __delattr__ = _blocked("changed")
