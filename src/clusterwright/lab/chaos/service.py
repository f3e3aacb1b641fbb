"""Which hosts Slurm gives to jobs, and how all of them come to rest between two faults."""

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
    """The cluster's hosts, as Slurm has them."""

    cluster: Cluster
    remote: Remote
    clock: Clock

    def states(self) -> dict[str, str]:
        """Slurm's word for each host; nothing where slurmctld does not answer."""
        result = Host(self.remote, self.cluster.control.name).run(
            "sinfo -hN -o '%N %T' | sort -u", timeout_s=30
        )
        rows = (line.partition(" ") for line in result.out.splitlines())
        return {name: state.rstrip("*~#!%$@^-") for name, blank, state in rows if blank}

    def out(self) -> frozenset[str]:
        """Hosts that jobs do not get."""
        return frozenset(name for name, state in self.states().items() if state not in IN_SERVICE)

    def back(self, host: str) -> float | None:
        """Seconds until the host takes jobs again by itself; None where it does not."""
        began = self.clock.monotonic()
        self.wait_until(lambda: self.states().get(host) in IN_SERVICE, REST_LIMIT_S)
        elapsed_s = self.clock.monotonic() - began
        return elapsed_s if self.states().get(host) in IN_SERVICE else None

    def wait_idle(self) -> None:
        """Every host in service and no job; what is still out, a person gives back.

        Raises:
            WrightError: they do not come to rest.
        """

        def calm() -> bool:
            states = self.states()
            return bool(states) and set(states.values()) == {"idle"}

        Host(self.remote, self.cluster.control.name).run(_RESUME_NODES, timeout_s=60)
        self.wait_until(calm, REST_LIMIT_S)
        if not calm():
            raise WrightError.from_code(
                "campaign-rest",
                _("hosts did not return to service: {states}", states=self.states()),
                _("see `wright lab status`"),
            )

    def wait_until(self, true: Callable[[], bool], limit_s: float) -> None:
        """Until it is so, or the limit has passed: a cluster that is broken may not answer for a while."""
        end = self.clock.monotonic() + limit_s
        while self.clock.monotonic() < end:
            try:
                if true():
                    return
            except WrightError:
                pass
            self.clock.sleep(POLL_INTERVAL_S)
