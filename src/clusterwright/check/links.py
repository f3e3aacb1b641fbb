"""What the error counters of a link may grow by, and which of a host's links grew by more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.addresses import Interface
from clusterwright.check.facts.link_counters import Grown
from clusterwright.check.verdict import Status
from clusterwright.i18n import N_

_NVSENTINEL = N_("NVSentinel's nic-health-monitor")


@dataclass(frozen=True, slots=True)
class Rule:
    """A counter, the growth per second that is still good, how bad more is, what it means, and who says so.

    `free` events are no fault however soon they come.
    """

    counter: str
    most: float
    status: Status
    meaning: str
    source: str
    free: int = 0


RULES = (
    Rule("link_downed", 0, Status.FAIL, N_("the link went down"), _NVSENTINEL),
    Rule("excessive_buffer_overrun_errors", 0, Status.FAIL, N_("its buffers ran over"), _NVSENTINEL),
    Rule("local_link_integrity_errors", 0, Status.FAIL, N_("it loses its own packets"), _NVSENTINEL),
    Rule(
        "rnr_nak_retry_err",
        0,
        Status.FAIL,
        N_("a peer had no buffer ready, again and again"),
        _NVSENTINEL,
    ),
    Rule(
        "symbol_error",
        120 / 3600,
        Status.FAIL,
        N_("bits arrive wrong"),
        f"{_NVSENTINEL}: 120 an hour",
        free=120,
    ),
    Rule("link_error_recovery", 5 / 60, Status.WARN, N_("it trains anew"), _NVSENTINEL),
    Rule("port_rcv_errors", 10, Status.WARN, N_("packets arrive broken"), _NVSENTINEL),
    Rule("local_ack_timeout_err", 1, Status.WARN, N_("packets are lost on the way (RoCE)"), _NVSENTINEL),
    Rule("port_xmit_discards", 100, Status.WARN, N_("packets are thrown away: congestion"), _NVSENTINEL),
    Rule("roce_slow_restart", 10, Status.WARN, N_("flows start again slowly: congestion"), _NVSENTINEL),
    Rule("carrier_changes", 0, Status.WARN, N_("the link went down and up"), _NVSENTINEL, free=2),
    Rule(
        "rx_crc_errors",
        0.1,
        Status.WARN,
        N_("packets arrive broken"),
        N_("ours: a good cable has none in a day"),
    ),
    Rule("rx_errors", 10, Status.WARN, N_("packets arrive broken"), N_("as port_rcv_errors")),
    Rule("tx_errors", 10, Status.WARN, N_("packets cannot be sent"), N_("as port_rcv_errors")),
)


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that a link of that network broke, and by how much its counter grew."""

    link: str
    network: str
    rule: Rule
    grown: int


def broken(spec: HostSpec, have: Grown, interfaces: dict[str, Interface]) -> Iterator[Broken]:
    """Every rule that a link of the cluster broke on one host."""
    for link, network in _links(spec, have, interfaces).items():
        counters = have.links[link]
        for rule in RULES:
            if counters.get(rule.counter, 0) > max(rule.free, rule.most * have.seconds):
                yield Broken(link, network, rule, counters[rule.counter])


def _links(spec: HostSpec, have: Grown, interfaces: dict[str, Interface]) -> dict[str, str]:
    """Network by link: RDMA ports, and interfaces with an address of ours; those of containers come and go."""
    ours = {
        interfaces[str(address)].name: network
        for network, address in spec.host.addresses.items()
        if str(address) in interfaces
    }
    return {
        link: "compute" if "/" in link else ours[link] for link in have.links if "/" in link or link in ours
    }
