"""Arithmetic on floats or numpy arrays: a formula takes one plan or a million.

Every formula of the planner is written once, with `+ - * /` and these functions; numpy is imported only for
arrays, which only the search uses.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    Real: TypeAlias = float | np.ndarray[Any, np.dtype[Any]]


def is_array(value: object) -> bool:
    """True if the value is a numpy array; does not import numpy."""
    return hasattr(value, "dtype")


def larger(a: Real, b: Real) -> Real:
    """Return the element-wise maximum of two numbers or arrays."""
    if is_array(a) or is_array(b):
        import numpy as np

        return np.maximum(a, b)
    return max(a, b)


def smaller(a: Real, b: Real) -> Real:
    """Return the element-wise minimum of two numbers or arrays."""
    if is_array(a) or is_array(b):
        import numpy as np

        return np.minimum(a, b)
    return min(a, b)


def pick(condition: Any, yes: Real, no: Real) -> Real:
    """Return `yes` where the condition is true, else `no`; element by element (np.where) if any argument is an array.

    Both are evaluated, as they are arguments.
    """
    if is_array(condition) or is_array(yes) or is_array(no):
        import numpy as np

        return np.where(condition, yes, no)
    return yes if condition else no


def ceil(value: Real) -> Real:
    """Round a number, or each element of an array, up to a whole number, still as a float."""
    if is_array(value):
        import numpy as np

        return np.ceil(value)
    return float(math.ceil(value))


def log2(value: Real) -> Real:
    """Return the base-2 logarithm, element by element."""
    if is_array(value):
        import numpy as np

        return np.log2(value)
    return math.log2(value)


def divisors(number: int) -> list[int]:
    """Return the divisors of a whole number, ascending."""
    low = [d for d in range(1, math.isqrt(number) + 1) if number % d == 0]
    return low + [number // d for d in reversed(low) if d * d != number]
