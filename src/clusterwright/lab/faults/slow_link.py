"""Slow link: another rate in both directions; all links unless a network is named."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.lab import network
from clusterwright.lab.faults import links
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState
from clusterwright.units import parse_rate

OPTIONS = ("rate", "network")
LASTS = True
DEFAULT_RATE = "10Mbit/s"  # a hundredth of the slowest Ethernet that clusters still have


def refuse(lab: LabState, host: LabHost, options: Mapping[str, str]) -> None:
    """Raise a WrightError if the option `rate` is invalid; else do nothing."""
    _rate(options)


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Shape the host's links to the requested rate; return the lab's state."""
    rate_bits_per_s = _rate(options)
    for link in links(host, options):
        network.reshape(host, link, rate_bits_per_s)
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Set the rate of the host's links to that in the cluster file again; return the lab's state."""
    for link in links(host, options):
        network.reshape(host, link, link.rate_bits_per_s)
    return lab


def _rate(options: Mapping[str, str]) -> int:
    try:
        return parse_rate(options.get("rate", DEFAULT_RATE))
    except ValueError as error:
        raise WrightError.from_code(
            "lab-fault-option", f"--rate: {error}", "e.g. --rate 10Mbit/s", exit_code=EXIT_USAGE
        ) from error
