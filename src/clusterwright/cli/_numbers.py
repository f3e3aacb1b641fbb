"""Numbers of the command line that several commands take."""

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

Count = Annotated[int, Parameter(validator=Number(gte=1, lte=10**9))]
CountOrZero = Annotated[int, Parameter(validator=Number(gte=0, lte=10**9))]  # 0: none of them
Positive = Annotated[float, Parameter(validator=Number(gt=0, lte=10**9))]
PositiveOrZero = Annotated[float, Parameter(validator=Number(gte=0, lte=10**9))]
Fraction = Annotated[float, Parameter(validator=Number(gt=0, lte=1))]
Ratio = Annotated[float, Parameter(validator=Number(gte=1, lte=10**9))]  # of a whole to one of its parts
Port = Annotated[int, Parameter(validator=Number(gte=0, lte=65535))]  # 0: any free port
