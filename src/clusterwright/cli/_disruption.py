"""How gently a command changes hosts: options that several commands have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter


@Parameter(name="*")
@dataclass(frozen=True)
class DisruptionOptions:
    """The options as they were typed."""

    batch: Annotated[
        str,
        Parameter(
            help="Compute hosts that restart something at once, after the first one alone: 4, or 25% of them."
        ),
    ] = ""
    drain: Annotated[
        bool,
        Parameter(
            negative="",
            help="Where a change wants a host without jobs: drain it, wait, change it, give it back.",
        ),
    ] = False
    reboot: Annotated[
        bool,
        Parameter(
            negative="",
            help="Where a change wants a reboot: drain the host, wait, change it, reboot it, check it, give it back.",
        ),
    ] = False
    wait: Annotated[
        str, Parameter(help="With --drain or --reboot: longest time for jobs to end, in all.")
    ] = "1h"


USUALLY = DisruptionOptions()
