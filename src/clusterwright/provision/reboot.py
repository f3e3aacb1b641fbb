"""Reboot hosts whose changes require it, and check them before they are resumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.edge.clock import Clock
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Remote, fan_out
from clusterwright.i18n import _, in_language
from clusterwright.onhost.provision.reboots import BOOT_ID
from clusterwright.provision.drain import ProgressCallback
from clusterwright.slurm import client
from clusterwright.slurm.drain_reasons import APPLY
from clusterwright.slurm.nodes import parse_nodes
from clusterwright.units import human_duration

BOOT_S = 900.0  # a server with 2 TB of memory and 8 GPUs tests itself for ten minutes before it boots
SETTLE_S = 90.0  # daemons and links settle after a boot; a check that still fails then has found a fault
POLL_S = 2.0
BY_SYSTEMD = "systemctl --no-block reboot"

HealthCheck = Callable[[tuple[str, ...]], Mapping[str, str]]


def nothing_wrong(_hosts: tuple[str, ...]) -> Mapping[str, str]:
    """Return no faults: the health check after a reboot where none is configured."""
    return {}


@dataclass(frozen=True, slots=True)
class Reboots:
    """Reboots of one apply's hosts; `health_check` returns the faults of rebooted hosts, by host."""

    cluster: Cluster
    remote: Remote
    clock: Clock
    on_progress: ProgressCallback
    when: str
    health_check: HealthCheck = nothing_wrong
    boot_s: float = BOOT_S

    def make(self, boots: Mapping[str, str]) -> dict[str, str]:
        """Reboot hosts, wait for them and check them; return the error by host of those that failed.

        `boots` has their current boot ids. A host must come back within `boot_s`, register with Slurm and pass the
        health check; failed ones get a drain reason.
        """
        if not boots:
            return {}
        starts = self._slurmd_starts(boots)
        self.on_progress(_("{hosts}: rebooting", hosts=fold(list(boots))))
        fan_out(boots, lambda host: Host(self.remote, host).run_root(BY_SYSTEMD, timeout_s=30))
        begun = self.clock.monotonic()
        troubles = self._poll_troubles(boots, lambda pending: self._not_back(pending, boots), self.boot_s)
        back = [host for host in boots if host not in troubles]
        if back:
            self.on_progress(
                _(
                    "{hosts}: back after {duration}",
                    hosts=fold(back),
                    duration=human_duration(self.clock.monotonic() - begun),
                )
            )
        troubles |= self._poll_troubles(back, lambda pending: self._not_in_slurm(pending, starts), SETTLE_S)
        registered_hosts = [host for host in back if host not in troubles]
        troubles |= self._poll_troubles(
            registered_hosts, lambda pending: dict(self.health_check(tuple(pending))), SETTLE_S
        )
        if healthy_hosts := [host for host in registered_hosts if host not in troubles]:
            self.on_progress(_("{hosts}: checked after the boot", hosts=fold(healthy_hosts)))
        self._update_drain_reasons(troubles)
        return troubles

    def _poll_troubles(
        self,
        hosts: Mapping[str, str] | list[str],
        check: Callable[[list[str]], dict[str, str]],
        limit_s: float,
    ) -> dict[str, str]:
        """Repeat `check` until no host has a fault or `limit_s` is over.

        Return the remaining faults by host, in English. Only hosts with faults are checked again.
        """
        end = self.clock.monotonic() + limit_s
        with in_language("en"):  # the text becomes Slurm's drain reason
            troubles = check(list(hosts)) if hosts else {}
            while troubles and self.clock.monotonic() < end:
                self.clock.sleep(POLL_S)
                troubles = check(list(troubles))
        return troubles

    def _not_back(self, hosts: list[str], boots: Mapping[str, str]) -> dict[str, str]:
        results = fan_out(hosts, lambda host: Host(self.remote, host).run(f"cat {BOOT_ID}", timeout_s=15))
        limit = human_duration(self.boot_s)
        reasons = {
            host: _(
                "the host did not shut down within {limit}: `systemctl list-jobs` on the host shows what blocks it",
                limit=limit,
            )
            if result.ok and result.out.strip() == boots[host]
            else _("the host did not respond within {limit} of its reboot: check its console", limit=limit)
            for host, result in results.items()
        }
        return {
            host: reason
            for host, reason in reasons.items()
            if not results[host].ok
            or not results[host].out.strip()
            or results[host].out.strip() == boots[host]
        }

    def _slurmd_starts(self, hosts: Mapping[str, str] | list[str]) -> dict[str, str]:
        """Return the slurmd start time of each compute host, from slurmctld.

        "" if the node is invalid or not responding. Hosts of other roles are left out.
        """
        ours = [host.name for host in self.cluster.hosts("compute") if host.name in hosts]
        if not ours:
            return {}
        command = client.line(client.show_nodes(ours))
        result = Host(self.remote, self.cluster.control.name).run_root(command)
        nodes = parse_nodes(result.out).values()
        well = {node.name for node in nodes if node.state.is_responding and not node.state.is_invalid}
        return {node.name: node.record["SlurmdStartTime"] if node.name in well else "" for node in nodes}

    def _not_in_slurm(self, hosts: list[str], previous_starts: Mapping[str, str]) -> dict[str, str]:
        """Return by name the compute hosts whose slurmd has not registered since the reboot, and a sentence on it."""
        now = self._slurmd_starts(hosts)
        names = {host.name for host in self.cluster.hosts("compute")}
        return {
            host: _(
                "slurmd has not registered since the reboot: `journalctl -u slurmd` on the host shows why"
            )
            for host in hosts
            if host in names and now.get(host, "") in ("", previous_starts.get(host))
        }

    def _update_drain_reasons(self, troubles: Mapping[str, str]) -> None:
        """Set Slurm's drain reason to the fault, up to its first colon, after the prefix that marks applies' drains."""
        for host, reason in troubles.items():
            command = client.line(
                client.drain(host, f"{APPLY} {self.when}: {reason.partition(':')[0]}"[:200])
            )
            Host(self.remote, self.cluster.control.name).run_root(command)
