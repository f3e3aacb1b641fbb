"""Options of several commands: how they disrupt running jobs when they change hosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from clusterwright.cli._quantities import Batch, Duration


@Parameter(name="*")
@dataclass(frozen=True)
class DisruptionOptions:
    """The options of --batch, --drain, --reboot and --wait as typed."""

    batch: Annotated[
        Batch,
        Parameter(
            help="Compute hosts changed at a time after the first host, as a number or a percentage: 4 or 25%."
        ),
    ] = ""
    drain: Annotated[
        bool,
        Parameter(
            negative="",
            help="Drain hosts whose change needs an idle host, wait for their jobs, change and resume them.",
        ),
    ] = False
    reboot: Annotated[
        bool,
        Parameter(
            negative="",
            help="Drain hosts whose change needs a reboot, wait, change, reboot, check and resume them.",
        ),
    ] = False
    wait: Annotated[
        Duration, Parameter(help="With --drain or --reboot: longest total wait for jobs to end.")
    ] = "1h"


DEFAULT_DISRUPTION = DisruptionOptions()
