"""What a job holds ready fits how it recovers."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.job import Job
from clusterwright.config.rules._clash import Clash

_POLICY, _SPARES = ("recovery", "on_host_loss"), ("recovery", "spare_nodes")


def recovery(job: Job) -> Iterator[Clash]:
    """Spare hosts go with `spare`, a range of hosts with `shrink`, and the range holds `nodes`."""
    policy, spares = job.recovery.on_host_loss, job.recovery.spare_nodes
    if spares and policy != "spare":
        message = f"spare_nodes is {spares}, but on host loss the job does `{policy}`"
        yield Clash(
            "spare-mismatch",
            message,
            "set `on_host_loss: spare`, or take spare_nodes out",
            (_SPARES, _POLICY),
        )
    if policy == "spare" and not spares:
        message = "on host loss a spare takes over, but no host is held ready"
        yield Clash("spare-mismatch", message, "add `spare_nodes: 1`", (_POLICY, _SPARES))
    if job.elastic is None:
        return
    if policy != "shrink":
        message = f"the job has a range of hosts, but on host loss it does `{policy}`"
        yield Clash(
            "elastic-mismatch",
            message,
            "set `on_host_loss: shrink`, or take elastic out",
            (("elastic",), _POLICY),
        )
    yield from _range(job)


def _range(job: Job) -> Iterator[Clash]:
    low, high = job.elastic.min_nodes if job.elastic else 1, job.elastic.max_nodes if job.elastic else None
    if low > job.nodes:
        message, mend = (
            f"min_nodes is {low}, but the job has {job.nodes} hosts",
            f"set min_nodes to {job.nodes} or less",
        )
        yield Clash("elastic-range", message, mend, (("elastic", "min_nodes"), ("nodes",)))
    if high is not None and high < job.nodes:
        message, mend = (
            f"max_nodes is {high}, but the job has {job.nodes} hosts",
            f"set max_nodes to {job.nodes} or more",
        )
        yield Clash("elastic-range", message, mend, (("elastic", "max_nodes"), ("nodes",)))
