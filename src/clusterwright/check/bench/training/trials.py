"""What is trained, and all groups that were trained so far."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusterwright.check.bench.culprits.bisect import Group
from clusterwright.check.bench.culprits.groups import Groups, Ranks, ranks_of
from clusterwright.check.bench.parsers.trained import Trained, trained
from clusterwright.check.bench.site import Site
from clusterwright.check.bench.stage import Answer
from clusterwright.check.bench.training.routes import ALONE, Route, strayed
from clusterwright.check.bench.training.scaling import chunks

LIMIT_S = 300.0  # of one order, beside what ranks take to start


@dataclass(frozen=True, slots=True)
class Shape:
    """A transformer of that width and depth, and what one rank's step computes."""

    backend: str
    width: int
    layers: int
    sequences: int  # samples of one rank's step
    tokens: int  # of each
    seconds: float  # for steps of each kind, with the exchange and without

    def __str__(self) -> str:
        """In words."""
        model = f"a transformer of {self.layers} layers of width {self.width}"
        return f"{self.backend}, {model}, {self.sequences} samples of {self.tokens} tokens a rank and step"

    @property
    def given(self) -> dict[str, Any]:
        """As the program is told."""
        return {name: getattr(self, name) for name in ("width", "layers", "sequences", "tokens", "seconds")}


Case = tuple[Route, int]  # over what, and hosts of a group


@dataclass(slots=True)
class Trials:
    """Every pass over the groups of a case; of what came to nothing, why."""

    site: Site
    shape: Shape
    groups: Groups
    passes: dict[str, dict[int, list[Trained]]] = field(default_factory=dict)
    failed: dict[tuple[str, Group], str] = field(default_factory=dict)

    def train(self, route: Route, size: int) -> None:
        """All groups of that size at once; one that took another route is not believed."""
        alive = self.site.stage.hosts
        asked = chunks(alive, min(size, len(alive) or 1))
        ranks = Ranks("training", self.shape.backend, self.shape.given, LIMIT_S, route.environment)
        for hosts, answers in self.groups.answers(asked, ranks).items():
            try:
                found = self._believed(route, hosts, answers)
            except ValueError as why:
                self.failed[route.name, hosts] = str(why)
            else:
                self.failed.pop((route.name, hosts), None)
                self.passes.setdefault(route.name, {}).setdefault(size, []).append(found)

    def _believed(self, route: Route, hosts: Group, answers: Sequence[Answer]) -> Trained:
        """What the group came to.

        Raises:
            ValueError: it did not end well, or its gradients took another route.
        """
        if not answers:
            raise ValueError("its ranks did not end well")
        found = trained(hosts, answers)
        if astray := strayed(route, found):
            raise ValueError(astray)
        return found

    def of(self, route: Route, size: int) -> dict[Group, list[Trained]]:
        """The passes of each group."""
        found: dict[Group, list[Trained]] = {}
        for each in self.passes.get(route.name, {}).get(size, ()):
            found.setdefault(each.hosts, []).append(each)
        return found

    def best(self, route: Route, size: int) -> tuple[Trained, ...]:
        """The fastest pass of each group: disturbances only take away."""
        several = self.of(route, size).values()
        return tuple(min(passes, key=lambda each: each.step_s) for passes in several)

    def all(self) -> Mapping[str, tuple[Trained, ...]]:
        """Everything, by route."""
        return {
            name: tuple(each for passes in by_size.values() for each in passes)
            for name, by_size in self.passes.items()
        }

    @property
    def alone_s(self) -> float:
        """Seconds of a step of one host by itself, as is usual; 0 where none was measured."""
        found = [each.step_s for each in self.best(ALONE, 1)]
        return statistics.median(found) if found else 0.0

    def samples(self, hosts: Group) -> int:
        """Of one step of such a group."""
        return self.shape.sequences * sum(ranks_of(self.site, host, self.shape.backend) for host in hosts)
