"""Read which hosts Slurm has in service, and reset the cluster between two faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clusterwright.config.cluster import Cluster
from clusterwright.edge.clock import Clock
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Remote
from clusterwright.errors import WrightError
from clusterwright.i18n import _

POLL_INTERVAL_S = 1.0
REST_LIMIT_S = 150.0
IN_SERVICE = frozenset({"idle", "mixed", "allocated", "completing", "planned"})
_RESUME_NODES = """squeue -h -o %A | xargs -r scancel
for node in $(sinfo -hN -t drain,down -o %N | sort -u); do
  scontrol update nodename=$node state=resume
done"""


@dataclass(frozen=True, slots=True)
class Service:
    """The service state of the cluster's hosts, as Slurm reports it."""

    cluster: Cluster
    remote: Remote
    clock: Clock

    def states(self) -> dict[str, str]:
        """Return Slurm's state of each host, without its flags; empty if slurmctld does not answer."""
        result = Host(self.remote, self.cluster.control.name).run(
            "sinfo -hN -o '%N %T' | sort -u", timeout_s=30
        )
        rows = (line.partition(" ") for line in result.out.splitlines())
        return {name: state.rstrip("*~#!%$@^-") for name, blank, state in rows if blank}

    def out(self) -> frozenset[str]:
        """Return the hosts that get no jobs, such as drained ones, by Slurm's states."""
        return frozenset(name for name, state in self.states().items() if state not in IN_SERVICE)

    def back(self, host: str) -> float | None:
        """Wait until the host is in service, without help; return the seconds, None if the timeout passes."""
        began = self.clock.monotonic()
        self.wait_until(lambda: self.states().get(host) in IN_SERVICE, REST_LIMIT_S)
        elapsed_s = self.clock.monotonic() - began
        return elapsed_s if self.states().get(host) in IN_SERVICE else None

    def wait_idle(self) -> None:
        """Cancel all jobs, resume drained and down nodes, and wait until every host is idle.

        Raises:
            WrightError: They do not become idle.
        """

        def all_idle() -> bool:
            states = self.states()
            return bool(states) and set(states.values()) == {"idle"}

        Host(self.remote, self.cluster.control.name).run(_RESUME_NODES, timeout_s=60)
        self.wait_until(all_idle, REST_LIMIT_S)
        if not all_idle():
            raise WrightError.from_code(
                "campaign-rest",
                _("hosts did not return to service: {states}", states=self.states()),
                _("see `wright lab status`"),
            )

    def wait_until(self, true: Callable[[], bool], limit_s: float) -> None:
        """Wait until the condition is true or the time is over, without telling which.

        An error of the condition counts as false, as in a broken cluster.
        """
        end = self.clock.monotonic() + limit_s
        while self.clock.monotonic() < end:
            try:
                if true():
                    return
            except WrightError:
                pass
            self.clock.sleep(POLL_INTERVAL_S)
