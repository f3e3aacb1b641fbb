"""The options that the commands of `wright tune` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from clusterwright.check.bench.hold import Wish
    from clusterwright.check.tune.trials import Budget


@Parameter(name="*")
@dataclass(frozen=True)
class Common:
    """The options as they were typed."""

    budget: Annotated[int, Parameter(help="Trials to spend; each starts all ranks anew.")] = 60
    seed: Annotated[int, Parameter(help="Of the order of trials.")] = 1
    knobs: Annotated[str, Parameter(help="Only these, with commas between; else all that may matter.")] = ""
    hosts: Annotated[str, Parameter(help="Only these, waited for: gpu-node[1-4]. Else idle ones.")] = ""
    wait: Annotated[str, Parameter(help="Longest time for hosts to come free.")] = "10m"
    write: Annotated[bool, Parameter(negative="", help="Write the winner into the file.")] = False
    json: Annotated[bool, Parameter(negative="", help="One JSON document: every trial, and the outcome.")] = (
        False
    )

    @property
    def names(self) -> tuple[str, ...]:
        """The knobs that are named."""
        return tuple(name.strip() for name in self.knobs.split(",") if name.strip())

    @property
    def trials(self) -> Budget:
        """The budget, refused where it is too small for anything."""
        from clusterwright.check.tune.trials import Budget

        return Budget(self.budget, self.seed)

    def wish(self, user: str | None, fewest: int, partition: str = "") -> Wish:
        """The hosts to hold."""
        from clusterwright.check.bench.hold import Wish
        from clusterwright.cli._hostlist import expanded
        from clusterwright.units import parse_duration

        wait_s = parse_duration(self.wait)
        return Wish(user, expanded(self.hosts) or (), partition, wait_s=wait_s, fewest=fewest)


COMMONLY = Common()
