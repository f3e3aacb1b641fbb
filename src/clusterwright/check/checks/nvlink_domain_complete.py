"""The NVLink domains are whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.kernel_log import KernelLog, kernel_log
from clusterwright.check.facts.nvl_domain import nvl_domain
from clusterwright.check.kernel.events import BURST_S, Event, events
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import N_, _

_OF_NVLINK = range(144, 151)  # XID catalogue of NVIDIA: NVLink 5, in a rack a matter of all its hosts
_EXPECTED = N_("no XID 144 to 150 on several hosts of one NVLink domain within 3 minutes")


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's hosts are joined by no NVLink switch") if spec.cluster.lab else ""


@check(
    (kernel_log, nvl_domain),
    when=has_gpus,
    unless=_in_lab,
    cluster_wide=True,
    fix="one fault of the domain, not of each GPU: see its NVLink switches and nvidia-imex (`nvidia-imex-ctl -N`), "
    "and drain all its hosts together",
)
def nvlink_domain_complete(
    cluster: Cluster, logs: Mapping[str, KernelLog], domains: Mapping[str, str]
) -> Iterator[Verdict]:
    """NVLink's XIDs on several hosts of one domain at a time are told once, of the domain."""
    names = sorted({domain for domain in domains.values() if domain})
    bad = [(domain, hosts) for domain in names if (hosts := _affected_hosts(domain, domains, logs))]
    for domain, hosts in bad:
        observed = _("XID 144 to 150 at once on {hosts}", hosts=", ".join(hosts))
        yield fault(
            observed=observed,
            expected=_EXPECTED,
            subject=cluster.name,
            part=_("NVLink domain {domain}", domain=domain),
        )
    if not bad:
        yield from (
            fine(observed=domain or _("in no NVLink domain"), expected=_EXPECTED, subject=host)
            for host, domain in domains.items()
        )


def _affected_hosts(domain: str, domains: Mapping[str, str], logs: Mapping[str, KernelLog]) -> list[str]:
    """The hosts of the domain that told of it at the same time, where they are two or more."""
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


def _at_once(event: Event, peer_event: Event) -> bool:
    return event.first_s - BURST_S <= peer_event.last_s and peer_event.first_s - BURST_S <= event.last_s
