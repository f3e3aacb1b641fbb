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
from clusterwright.check.bench.training.routes import SINGLE_HOST, Route, strayed
from clusterwright.check.bench.training.scaling import chunks
from clusterwright.i18n import _

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
        model = _("a transformer with {layers} layers of width {width}", layers=self.layers, width=self.width)
        return _(
            "{backend}, {model}, {sequences} samples of {tokens} tokens per rank and step",
            backend=self.backend,
            model=model,
            sequences=self.sequences,
            tokens=self.tokens,
        )

    @property
    def arguments(self) -> dict[str, Any]:
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
        host_groups = chunks(alive, min(size, len(alive) or 1))
        ranks = Ranks("training", self.shape.backend, self.shape.arguments, LIMIT_S, route.environment)
        for hosts, answers in self.groups.answers(host_groups, ranks).items():
            try:
                result = self._believed(route, hosts, answers)
            except ValueError as error:
                self.failed[route.name, hosts] = str(error)
            else:
                self.failed.pop((route.name, hosts), None)
                self.passes.setdefault(route.name, {}).setdefault(size, []).append(result)

    def _believed(self, route: Route, hosts: Group, answers: Sequence[Answer]) -> Trained:
        """What the group came to.

        Raises:
            ValueError: it did not end well, or its gradients took another route.
        """
        if not answers:
            raise ValueError(_("its ranks failed"))
        result = trained(hosts, answers)
        if astray := strayed(route, result):
            raise ValueError(astray)
        return result

    def passes_by_group(self, route: Route, size: int) -> dict[Group, list[Trained]]:
        """The passes of each group."""
        by_group: dict[Group, list[Trained]] = {}
        for result in self.passes.get(route.name, {}).get(size, ()):
            by_group.setdefault(result.hosts, []).append(result)
        return by_group

    def best(self, route: Route, size: int) -> tuple[Trained, ...]:
        """The fastest pass of each group: disturbances only take away."""
        several = self.passes_by_group(route, size).values()
        return tuple(min(passes, key=lambda result: result.step_s) for passes in several)

    def all(self) -> Mapping[str, tuple[Trained, ...]]:
        """Everything, by route."""
        return {
            name: tuple(result for passes in by_size.values() for result in passes)
            for name, by_size in self.passes.items()
        }

    @property
    def single_host_s(self) -> float:
        """Seconds of a step of one host by itself, as is usual; 0 where none was measured."""
        step_times = [result.step_s for result in self.best(SINGLE_HOST, 1)]
        return statistics.median(step_times) if step_times else 0.0

    def samples(self, hosts: Group) -> int:
        """Of one step of such a group."""
        return self.shape.sequences * sum(ranks_of(self.site, host, self.shape.backend) for host in hosts)
