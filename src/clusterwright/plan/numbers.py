"""Arithmetic that takes one plan or a million: plain numbers stay plain, arrays go element by element.

Every formula of the planner is written once, with `+ - * /` and these; numpy is imported only when an
array comes in, which only the search does.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    Real: TypeAlias = float | np.ndarray[Any, np.dtype[Any]]


def is_array(value: object) -> bool:
    """True for a numpy array; does not import numpy."""
    return hasattr(value, "dtype")


def larger(a: Real, b: Real) -> Real:
    """The larger of two, element by element."""
    if is_array(a) or is_array(b):
        import numpy as np

        return np.maximum(a, b)
    return max(a, b)


def smaller(a: Real, b: Real) -> Real:
    """The smaller of two, element by element."""
    if is_array(a) or is_array(b):
        import numpy as np

        return np.minimum(a, b)
    return min(a, b)


def pick(condition: Any, yes: Real, no: Real) -> Real:
    """`yes` where the condition holds, else `no`; both are computed, so neither may raise."""
    if is_array(condition) or is_array(yes) or is_array(no):
        import numpy as np

        return np.where(condition, yes, no)
    return yes if condition else no


def ceil(value: Real) -> Real:
    """The next whole number up."""
    if is_array(value):
        import numpy as np

        return np.ceil(value)
    return float(math.ceil(value))


def log2(value: Real) -> Real:
    """Logarithm to base 2."""
    if is_array(value):
        import numpy as np

        return np.log2(value)
    return math.log2(value)
