"""NVLink domains have no fault that affects several hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.kernel_log import KernelLog, kernel_log
from clusterwright.check.facts.nvl_domain import nvl_domain
from clusterwright.check.kernel.events import BURST_S, KernelEvent, events
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import N_, _

_OF_NVLINK = range(144, 151)  # NVIDIA's Xid catalog: NVLink 5 errors, which in a rack concern all its hosts
_EXPECTED = N_("no Xid 144 to 150 on several hosts of one NVLink domain within 3 minutes")


def _in_lab(spec: HostSpec) -> str:
    return _("not checked in a lab: its hosts have no NVLink switch") if spec.cluster.lab else ""


@check(
    (kernel_log, nvl_domain),
    when=has_gpus,
    unless=_in_lab,
    cluster_wide=True,
    fix="check the NVLink switches of the domain and nvidia-imex (`nvidia-imex-ctl -N`), and drain all its hosts "
    "together: the fault is in the domain, not in each GPU",
    in_jobs=True,
)
def nvlink_domain_complete(
    cluster: Cluster, logs: Mapping[str, KernelLog], domains: Mapping[str, str]
) -> Iterator[Verdict]:
    """No NVLink Xid occurs on several hosts of an NVLink domain at a time; such a fault is reported once per domain."""
    names = sorted({domain for domain in domains.values() if domain})
    bad = [(domain, hosts) for domain in names if (hosts := _affected_hosts(domain, domains, logs))]
    for domain, hosts in bad:
        observed = _("Xid 144 to 150 at the same time on {hosts}", hosts=", ".join(hosts))
        yield fault(
            observed=observed, expected=_(_EXPECTED), subject=cluster.name, part=f"NVLink domain {domain}"
        )
    if not bad:
        yield from (
            fine(
                observed=domain or _("the host does not belong to an NVLink domain"),
                expected=_(_EXPECTED),
                subject=host,
            )
            for host, domain in domains.items()
        )


def _affected_hosts(domain: str, domains: Mapping[str, str], logs: Mapping[str, KernelLog]) -> list[str]:
    """Return the hosts of a domain with NVLink Xids at the same time as another of its hosts."""
    host_events = [
        (event, host)
        for host in domains
        if domains[host] == domain and host in logs
        for event in events(logs[host].lines)
        if event.number in _OF_NVLINK
    ]
    affected = {
        host
        for host_event, host in host_events
        if any(_at_once(host_event, peer_event) for peer_event, peer_host in host_events if peer_host != host)
    }
    return sorted(affected)


def _at_once(event: KernelEvent, peer_event: KernelEvent) -> bool:
    return event.first_s - BURST_S <= peer_event.last_s and peer_event.first_s - BURST_S <= event.last_s
