"""Batches of an apply: which hosts change at the same time, and in what order."""

from __future__ import annotations

import math
from collections.abc import Mapping

from clusterwright.config.cluster import Cluster
from clusterwright.config.field import Cost
from clusterwright.config.storage import Nfs
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.provision.report import HostReport

# Batches of 25 %, as rolling updates use elsewhere (Kubernetes: maxUnavailable 25%). A small cluster is one batch
# after its first host: with eight hosts, quarters would be four rounds of two.
QUARTER, SMALL = 25, 8
RESTARTS = (Cost.RESTART, Cost.DRAIN, Cost.REBOOT, Cost.REBUILD)

Batches = tuple[tuple[str, ...], ...]


def plan_batches(cluster: Cluster, to_do: Mapping[str, HostReport], batch: str = "") -> Batches:
    """Return hosts in batches: those that others depend on, then compute hosts with restarts, then the rest.

    Of those with restarts, a single one first. `batch` is the size of a batch, as in `batch_size`. Where every change
    is live, as on new hosts, compute hosts do not wait for the control hosts. Empty batches are left out.
    """
    pending_hosts = list(to_do)
    batch_list: list[list[str]] = []
    calm = all(change.cost is Cost.LIVE for report in to_do.values() for change in report.changes)
    for names in _needed(cluster, calm=calm):
        batch_list.append([name for name in pending_hosts if name in names])
        pending_hosts = [name for name in pending_hosts if name not in names]
    compute = {host.name for host in cluster.hosts("compute")}
    restarting = [name for name in pending_hosts if name in compute and _restarts(to_do[name])]
    batch_list.append(restarting[:1])
    size = batch_size(batch, len(restarting))
    batch_list += [restarting[start : start + size] for start in range(1, len(restarting), size)]
    batch_list.append([name for name in pending_hosts if name not in restarting])
    return tuple(tuple(names) for names in batch_list if names)


def batch_size(batch: str, hosts: int) -> int:
    """Return the number of hosts in a batch: `4`, or `25%` of `hosts`, rounded up; at least 8 and 25% if it is empty.

    Raises:
        WrightError: neither a number above 0 nor a percentage from 1 to 100.
    """
    if not batch:
        return max(SMALL, math.ceil(hosts * QUARTER / 100))
    number = batch.removesuffix("%")
    if not (number.isascii() and number.isdigit()) or not 1 <= int(number) <= (
        100 if "%" in batch else 10**6
    ):
        raise WrightError.from_code(
            "apply-batch",
            _("`{batch}` is not a valid batch size", batch=batch),
            _("pass a number of hosts (--batch 4) or a percentage of the hosts (--batch 25%)"),
            exit_code=EXIT_USAGE,
        )
    return max(1, math.ceil(hosts * int(number) / 100)) if batch.endswith("%") else int(number)


def _needed(cluster: Cluster, *, calm: bool) -> list[set[str]]:
    """Return the sets of hosts that change before all others, in order: NFS servers, slurmdbd's host, control hosts.

    With `calm` (every change is live) control hosts are in no set.
    """
    servers = {folder.server for folder in cluster.storage.values() if isinstance(folder, Nfs)}
    accountant = {cluster.accountant.name} if cluster.accountant else set()
    control = {host.name for host in cluster.hosts("control")}
    if calm:  # slurmctld exits while slurmdbd is down; on a host with both, systemd orders their units
        return [servers, accountant if cluster.control.name not in accountant else set()]
    return [servers, accountant, control]


def _restarts(report: HostReport) -> bool:
    return bool(report.owes) or any(change.cost in RESTARTS for change in report.changes)
