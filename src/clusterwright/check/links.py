"""Limits for the growth of link error counters, and the links of a host that exceed them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.addresses import Interface
from clusterwright.check.facts.link_counters import GrownCounter
from clusterwright.check.verdict import Status
from clusterwright.i18n import N_

_NVSENTINEL = "NVSentinel nic-health-monitor"


@dataclass(frozen=True, slots=True)
class Rule:
    """A counter, its allowed growth per second (`most`), the status above it, the meaning, and the source of the limit.

    A growth of up to `free` events is allowed in any time.
    """

    counter: str
    most: float
    status: Status
    meaning: str
    source: str
    free: int = 0


RULES = (
    Rule("link_downed", 0, Status.FAIL, N_("the link went down"), _NVSENTINEL),
    Rule("excessive_buffer_overrun_errors", 0, Status.FAIL, N_("receive buffers overflowed"), _NVSENTINEL),
    Rule("local_link_integrity_errors", 0, Status.FAIL, N_("the port of the host lost packets"), _NVSENTINEL),
    Rule(
        "rnr_nak_retry_err",
        0,
        Status.FAIL,
        N_("a peer repeatedly had no receive buffer posted (RNR)"),
        _NVSENTINEL,
    ),
    Rule(
        "symbol_error",
        120 / 3600,
        Status.FAIL,
        N_("symbol errors on the cable"),
        f"{_NVSENTINEL}: 120 per hour",
        free=120,
    ),
    Rule("link_error_recovery", 5 / 60, Status.WARN, N_("the link retrained"), _NVSENTINEL),
    Rule("port_rcv_errors", 10, Status.WARN, N_("corrupt packets received"), _NVSENTINEL),
    Rule("local_ack_timeout_err", 1, Status.WARN, N_("packets lost in the network (RoCE)"), _NVSENTINEL),
    Rule("port_xmit_discards", 100, Status.WARN, N_("packets discarded by congestion"), _NVSENTINEL),
    Rule("roce_slow_restart", 10, Status.WARN, N_("RoCE slow restarts by congestion"), _NVSENTINEL),
    Rule("carrier_changes", 0, Status.WARN, N_("the link went down and up"), _NVSENTINEL, free=2),
    Rule(
        "rx_crc_errors",
        0.1,
        Status.WARN,
        N_("corrupt packets received"),
        "ours: a good cable has none in a day",
    ),
    Rule("rx_errors", 10, Status.WARN, N_("corrupt packets received"), "as port_rcv_errors"),
    Rule("tx_errors", 10, Status.WARN, N_("transmit errors"), "as port_rcv_errors"),
)


@dataclass(frozen=True, slots=True)
class Broken:
    """A link of a network whose counter grew by more than its rule allows."""

    link: str
    network: str
    rule: Rule
    grown: int


def broken(spec: HostSpec, have: GrownCounter, interfaces: dict[str, Interface]) -> Iterator[Broken]:
    """Yield each error counter of the host's cluster links that grew more than its rule permits."""
    for link, network in _links(spec, have, interfaces).items():
        counters = have.links[link]
        for rule in RULES:
            if counters.get(rule.counter, 0) > max(rule.free, rule.most * have.seconds):
                yield Broken(link, network, rule, counters[rule.counter])


def _links(spec: HostSpec, have: GrownCounter, interfaces: dict[str, Interface]) -> dict[str, str]:
    """Return network by link: RDMA ports, and interfaces with an address of the cluster (not those of containers)."""
    ours = {
        interfaces[str(address)].name: network
        for network, address in spec.host.addresses.items()
        if str(address) in interfaces
    }
    return {
        link: "compute" if "/" in link else ours[link] for link in have.links if "/" in link or link in ours
    }
