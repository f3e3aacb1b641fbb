"""The NVLink domains are whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import Want
from clusterwright.check.facts.kernel_log import KernelLog, kernel_log
from clusterwright.check.facts.nvl_domain import nvl_domain
from clusterwright.check.kernel.events import BURST_S, Event, events
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster

_OF_NVLINK = range(144, 151)  # XID catalogue of NVIDIA: NVLink 5, in a rack a matter of all its hosts
_WANT = "no XID 144 to 150 on several hosts of one NVLink domain within 3 minutes"


def _in_lab(want: Want) -> str:
    return "a lab's hosts are joined by no NVLink switch" if want.cluster.lab else ""


@check(
    (kernel_log, nvl_domain),
    when=has_gpus,
    unless=_in_lab,
    together=True,
    mend="one fault of the domain, not of each GPU: see its NVLink switches and nvidia-imex (`nvidia-imex-ctl -N`), "
    "and drain all its hosts together",
)
def nvl_domain_whole(
    cluster: Cluster, logs: Mapping[str, KernelLog], domains: Mapping[str, str]
) -> Iterator[Verdict]:
    """NVLink's XIDs on several hosts of one domain at a time are told once, of the domain."""
    names = sorted({domain for domain in domains.values() if domain})
    bad = [(domain, hosts) for domain in names if (hosts := _struck(domain, domains, logs))]
    for domain, hosts in bad:
        saw = f"XID 144 to 150 at once on {', '.join(hosts)}"
        yield fault(saw=saw, want=_WANT, subject=cluster.name, part=f"NVLink domain {domain}")
    if not bad:
        yield from (
            fine(saw=domain or "in no NVLink domain", want=_WANT, subject=host)
            for host, domain in domains.items()
        )


def _struck(domain: str, domains: Mapping[str, str], logs: Mapping[str, KernelLog]) -> list[str]:
    """The hosts of the domain that told of it at the same time, where they are two or more."""
    found = [
        (event, host)
        for host in domains
        if domains[host] == domain and host in logs
        for event in events(logs[host].lines)
        if event.number in _OF_NVLINK
    ]
    together = {host for one, host in found if any(_at_once(one, other) for other, it in found if it != host)}
    return sorted(together)


def _at_once(one: Event, other: Event) -> bool:
    return one.first_s - BURST_S <= other.last_s and other.first_s - BURST_S <= one.last_s
