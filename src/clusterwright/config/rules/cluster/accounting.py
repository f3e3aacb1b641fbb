"""What only accounting can enforce is asked only where it is on."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.config.rules._members import members
from clusterwright.config.rules._unknown import unknown

Loc = tuple[str | int, ...]

_KEPT = (
    ("partitions", "partition", ("qos", "headroom_percent")),
    ("teams", "team", ("parent", "max_gpus", "max_gpus_per_user", "max_jobs")),
    ("reservations", "reservation", ("teams",)),
)
_SWITCH = ("accounting", "enabled")


def accounting(cluster: Cluster) -> Iterator[Clash]:
    """The host of accounting is a control host; limits, qualities of service and head-room have it on."""
    host = cluster.accounting.host
    if host is not None:
        yield from _host(cluster, host)
    if cluster.accounting.enabled:
        return
    for what, at in _wants(cluster):
        yield Clash(
            "accounting-off",
            f"{what} is kept by slurmdbd, and accounting is off",
            "take it out, or set accounting.enabled to true",
            (at, _SWITCH),
        )


def _host(cluster: Cluster, name: str) -> Iterator[Clash]:
    at = ("accounting", "host")
    control = list(members(cluster, "control"))
    group = members(cluster).get(name)
    if group is None:
        yield unknown("accounting", "host", name, control, (at, ("nodes",)))
    elif name not in control:
        yield Clash(
            "accounting-host",
            f"accounting is to run on `{name}`, whose role is {cluster.nodes[group].role}",
            f"name a control host: {', '.join(control)}" if control else "add a control host",
            (at, ("nodes", group, "role")),
        )


def _wants(cluster: Cluster) -> Iterator[tuple[str, Loc]]:
    """What is asked of accounting, and where."""
    if cluster.accounting.host is not None:
        yield "its host", ("accounting", "host")
    yield from ((f"qos `{name}`", ("qos", name)) for name in cluster.qos)
    for section, who, fields in _KEPT:
        for name, one in getattr(cluster, section).items():
            for field in fields:
                if getattr(one, field) != type(one).model_fields[field].default:
                    yield f"{field} of {who} `{name}`", (section, name, field)
