"""Hosts that power saving has powered down: an apply skips them, and drains those that miss a change.

The control host stores a checksum of each host's last applied state, so that outdated hosts are known while they are
off, and the hosts drained for it, because Slurm (22.05) clears a node's reason when the node powers up.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Remote
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import parse_object
from clusterwright.provision.bundle import digest
from clusterwright.provision.drain import is_out
from clusterwright.provision.report import ChangeReport, HostReport
from clusterwright.provision.work import HostWork
from clusterwright.slurm import client
from clusterwright.slurm.drain_reasons import APPLY
from clusterwright.slurm.nodes import Node, parse_sinfo

STATE_PATH = "/var/lib/clusterwright/power/applied.json"
MISSED = f"{APPLY} ran while the host was powered down"
SINFO = client.line(client.node_states())


def find_powered_down(cluster: Cluster, remote: Remote) -> frozenset[str]:
    """Return hosts that Slurm has powered down or is powering down or up; none without power saving or an answer."""
    if not _may_be(cluster):
        return frozenset()
    result = Host(remote, cluster.control.name).run_root(SINFO)
    return frozenset(name for name, node in parse_sinfo(result.out).items() if node.state.is_power_saving)


def _may_be(cluster: Cluster) -> bool:
    saving = cluster.slurm.power_saving
    return saving is not None and saving.provider is not None


@dataclass(frozen=True, slots=True)
class PoweredDownHosts:
    """Hosts that are powered down, checksums of applied states, and hosts drained because they missed a change."""

    work: HostWork
    is_enabled: bool = False  # power saving may power hosts down
    hosts: frozenset[str] = frozenset()
    sums: Mapping[str, str] = dataclasses.field(default_factory=dict)
    drained: frozenset[str] = frozenset()

    @classmethod
    def load(cls, work: HostWork) -> PoweredDownHosts:
        """Return the powered-down hosts by Slurm's node states, and the stored checksums.

        Empty without power saving or before Slurm runs. Without a readable record of checksums, all powered-down
        hosts count as outdated.
        """
        if not _may_be(work.cluster):
            return cls(work)
        result = work.control.run_root(f"cat {STATE_PATH}")
        stored_state = parse_object(result.out if result.ok else "")
        sums, drained = stored_state.get("sums"), stored_state.get("drained")
        off = find_powered_down(work.cluster, work.remote)
        return cls(
            work,
            is_enabled=True,
            hosts=off,
            sums=sums if isinstance(sums, dict) else {},
            drained=frozenset(map(str, drained)) if isinstance(drained, list) else frozenset(),
        )

    def recheck(self, report: ChangeReport) -> tuple[PoweredDownHosts, ChangeReport]:
        """Return self with the hosts that were powered down during the apply, and the report without them.

        Only hosts whose apply failed are asked for.
        """
        failed = {host.host for host in report.hosts if not host.ok}
        newly_down = failed & find_powered_down(self.work.cluster, self.work.remote) if failed else set()
        host_reports = tuple(host for host in report.hosts if host.host not in newly_down)
        return dataclasses.replace(self, hosts=self.hosts | newly_down), dataclasses.replace(
            report, hosts=host_reports
        )

    def reports(self, hosts: Iterable[str]) -> tuple[HostReport, ...]:
        """Return a skipped report, with the reason, for each of these hosts that is powered down."""
        return tuple(
            HostReport(host, reached=False, left_out=self._message(host))
            for host in hosts
            if host in self.hosts
        )

    def _message(self, host: str) -> str:
        if self._misses(host):
            return _(
                "powered down by power saving, and its configuration is outdated: Slurm starts no job on it "
                "before an apply; power it up on the control host (scontrol update NodeName=NAME "
                "State=POWER_UP), then run `wright apply`"
            )
        return _("powered down by power saving; its configuration is up to date")

    def _misses(self, host: str) -> bool:
        return self.sums.get(host) != self._sum(host)

    def _sum(self, host: str) -> str:
        return digest(self.work.resources(host))

    def store(self, report: ChangeReport) -> None:
        """After an apply: store checksums, drain powered-down hosts that missed it, resume hosts that caught up.

        No effect without power saving.
        """
        if not self.is_enabled:
            return
        updated_hosts = [host.host for host in report.hosts if _is_complete(host)]
        sums = {**self.sums, **{host: self._sum(host) for host in updated_hosts}}
        nodes = parse_sinfo(self.work.control.run_root(SINFO).out)
        missed = [
            host for host in self.hosts if host in nodes and self._misses(host) and not is_out(nodes[host])
        ]
        back = [host for host in updated_hosts if host in nodes and self._is_ours(host, nodes[host])]
        self._write(sums, self.drained.difference(updated_hosts).union(missed))
        if missed:
            self.work.control.run_root(client.line(client.drain(fold(missed), f"{MISSED} {self.work.when}")))
        if back:
            self.work.control.run_root(client.line(client.resume(fold(back))))

    def _is_ours(self, host: str, node: Node) -> bool:
        """Return whether an apply drained the node because it missed changes while off, and no newer reason is set.

        A drained node without a reason counts if the record lists it.
        """
        forgotten = is_out(node) and host in self.drained and not node.reason
        return forgotten or node.reason.startswith(MISSED)

    def _write(self, sums: Mapping[str, str], drained: frozenset[str]) -> None:
        if (sums, drained) != (self.sums, self.drained):
            data = json.dumps({"sums": sums, "drained": sorted(drained)}).encode()
            self.work.control.upload_file(STATE_PATH, data)


def _is_complete(report: HostReport) -> bool:
    return (
        report.ok
        and report.reached
        and not report.left_out
        and all(change.applied for change in report.changes)
    )
