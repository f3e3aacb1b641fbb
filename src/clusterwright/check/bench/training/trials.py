"""The model that is trained, and the results of all groups so far."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusterwright.check.bench.culprits.bisect import Group
from clusterwright.check.bench.culprits.groups import Groups, Ranks, ranks_of
from clusterwright.check.bench.parsers.trained import Trained, trained
from clusterwright.check.bench.site import BenchSite
from clusterwright.check.bench.stage import StageAnswer, malformed
from clusterwright.check.bench.training.routes import SINGLE_HOST, Route, strayed
from clusterwright.check.bench.training.scaling import chunks
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS

LIMIT_S = 300.0  # of one order, in addition to the ranks' start


@dataclass(frozen=True, slots=True)
class Shape:
    """A transformer of that width and depth, and the work of one rank's step."""

    backend: str
    width: int
    layers: int
    sequences: int  # samples of one rank's step
    tokens: int  # of each sample
    seconds: float  # for steps of each kind, with and without the exchange

    def __str__(self) -> str:
        """Describe the shape as text."""
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
        """The command line arguments of the training program, by name."""
        return {name: getattr(self, name) for name in ("width", "layers", "sequences", "tokens", "seconds")}


Case = tuple[Route, int]  # the transport, and the hosts of a group


@dataclass(slots=True)
class Trials:
    """Every pass of each case's groups; `failed`: the errors of groups without a result."""

    site: BenchSite
    shape: Shape
    groups: Groups
    passes: dict[str, dict[int, list[Trained]]] = field(default_factory=dict)
    failed: dict[tuple[str, Group], str] = field(default_factory=dict)

    def train(self, route: Route, size: int) -> None:
        """Train on all groups of `size` hosts at once over a transport, and store each result or error.

        A group that used another transport fails. If fewer hosts answer, one group has all of them.
        """
        alive = self.site.stage.hosts
        host_groups = chunks(alive, min(size, len(alive) or 1))
        ranks = Ranks("training", self.shape.backend, self.shape.arguments, LIMIT_S, route.environment)
        for hosts, answers in self.groups.answers(host_groups, ranks).items():
            try:
                result = self._believed(route, hosts, answers)
            except DATA_ERRORS as error:
                self.failed[route.name, hosts] = malformed(error)
            else:
                self.failed.pop((route.name, hosts), None)
                self.passes.setdefault(route.name, {}).setdefault(size, []).append(result)

    def _believed(self, route: Route, hosts: Group, answers: Sequence[StageAnswer]) -> Trained:
        """Return the result of a group's training, parsed from its ranks' outputs.

        Raises:
            ValueError: its ranks failed, or its gradients used another transport.
        """
        if not answers:
            raise ValueError(_("the ranks of the trial training failed"))
        result = trained(hosts, answers)
        if astray := strayed(route, result):
            raise ValueError(astray)
        return result

    def passes_by_group(self, route: Route, size: int) -> dict[Group, list[Trained]]:
        """Return the results of each group of that size over that route, one per pass."""
        by_group: dict[Group, list[Trained]] = {}
        for result in self.passes.get(route.name, {}).get(size, ()):
            by_group.setdefault(result.hosts, []).append(result)
        return by_group

    def best(self, route: Route, size: int) -> tuple[Trained, ...]:
        """Return the fastest pass of each group: disturbances only slow it down."""
        several = self.passes_by_group(route, size).values()
        return tuple(min(passes, key=lambda result: result.step_s) for passes in several)

    def all(self) -> Mapping[str, tuple[Trained, ...]]:
        """Return all results of all group sizes, by route name."""
        return {
            name: tuple(result for passes in by_size.values() for result in passes)
            for name, by_size in self.passes.items()
        }

    @property
    def single_host_s(self) -> float:
        """Median seconds of a step of one host alone; 0 if none was measured."""
        step_times = [result.step_s for result in self.best(SINGLE_HOST, 1)]
        return statistics.median(step_times) if step_times else 0.0

    def samples(self, hosts: Group) -> int:
        """Return the number of samples in one step of a group of hosts."""
        return self.shape.sequences * sum(ranks_of(self.site, host, self.shape.backend) for host in hosts)
