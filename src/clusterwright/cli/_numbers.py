"""Numbers of the command line that several commands take."""

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

Count = Annotated[int, Parameter(validator=Number(gte=1))]
CountOrZero = Annotated[int, Parameter(validator=Number(gte=0))]  # 0: none of them
Positive = Annotated[float, Parameter(validator=Number(gt=0, lte=10**9))]
