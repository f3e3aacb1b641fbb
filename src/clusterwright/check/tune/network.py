"""Tune settings of collectives on the hosts of one job: all-reduce in pieces, as gradients are summed."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from clusterwright.check.bench.amounts import amount
from clusterwright.check.bench.culprits.groups import GroupPlan, Groups
from clusterwright.check.bench.kinds import network
from clusterwright.check.bench.kinds.collectives import plan_of
from clusterwright.check.bench.parsers.sweep import Sweep
from clusterwright.check.bench.site import BenchSite
from clusterwright.check.tune.knobs import KnobSettings, chosen, of_network
from clusterwright.check.tune.trials import Budget, Trials, Tuned, format_measurement
from clusterwright.i18n import _

# DDP sums gradients in buckets of 25 MiB (torch.nn.parallel.DistributedDataParallel, bucket_cap_mb).
BUCKET_BYTES = 25 * 2**20
KIND, ITERATIONS = "all_reduce_pieces", 7


def tune_network(site: BenchSite, budget: Budget, names: Sequence[str] = ()) -> Tuned:
    """Search for the values of variables with the fastest all-reduce over all hosts of `site.stage`.

    They come on top of the cluster file's current variables. `budget`: the number of trials, one run each. `names`:
    only these variables; empty: all.

    Raises:
        WrightError: The default run failed, or there is no such knob.
    """
    plan, groups, hosts = _plan(site), Groups(site), site.stage.hosts
    now = site.cluster.jobs.variables
    interface = site.facts[hosts[0]]["interfaces"].get(site.address(hosts[0]), "")
    usual = {"GLOO_SOCKET_IFNAME": interface, "NCCL_SOCKET_IFNAME": interface}
    knobs = chosen(of_network(plan.backend, interface), names, {**usual, **now}, numbers=False)

    def measure(settings: KnobSettings) -> float | None:
        environment = {**now, **dict(settings.pairs)}
        sweep = groups.run([hosts], replace(plan, environment=environment))[hosts]
        return value_of(sweep) if sweep else None

    line = network.expectation(site)
    trials = Trials(measure, lambda value: format_measurement(value, "bytes/s", line.value), site.log)
    trials.rehearse()
    outcome = trials.search(knobs, budget)
    subject, quantity = (
        _("{count} hosts", count=len(hosts)),
        _("all-reduce bus bandwidth with {backend}", backend=plan.backend),
    )
    notes = (_("line rate: {amount}, {reason}", amount=amount(line.value, line.unit), reason=line.reason),)
    return Tuned(subject, quantity, "bytes/s", knobs, budget, outcome, notes, line.value)


def value_of(sweep: Sweep) -> float | None:
    """Return the geometric mean of the sizes' bus bandwidths: a gain at each counts alike.

    None if data was wrong or nothing was measured.
    """
    rates = [row.bus_bw for row in sweep.rows if row.kind == KIND]
    wrong = any(row.wrong for row in sweep.rows)
    return statistics.geometric_mean(rates) if rates and min(rates) > 0 and not wrong else None


def _plan(site: BenchSite) -> GroupPlan:
    """Return an all-reduce sweep of two sizes: DDP's gradient bucket (25 MiB) and a quarter of it.

    With Gloo the larger one is limited to what takes a quarter of a second.
    """
    usual = plan_of(site)
    largest = min(BUCKET_BYTES, max(usual.sizes)) // 1024 * 1024
    return GroupPlan(
        usual.backend, (KIND,), (largest // 4 // 1024 * 1024, largest), ITERATIONS, usual.seconds
    )
