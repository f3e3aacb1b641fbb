"""The interfaces of NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME exist."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.addresses import Interface, addresses
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _

_VARIABLES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")


def _sets_interface(spec: HostSpec) -> bool:
    return spec.is_compute and any(name in spec.cluster.jobs.variables for name in _VARIABLES)


@check(
    addresses,
    when=_sets_interface,
    fix="run `ip -brief address` on the host for its interface names, and correct jobs.variables in the cluster file",
)
def nccl_interface(spec: HostSpec, have: dict[str, Interface]) -> Iterator[Verdict]:
    """Every interface of NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME exists; with a wrong name jobs hang."""
    interface_names = {interface.name for interface in have.values()}
    for name in _VARIABLES:
        text = spec.cluster.jobs.variables.get(name)
        if text and not text.startswith("^"):
            missing = [
                entry
                for entry in _names(text)
                if not _exists(entry, interface_names, exact=text.startswith("="))
            ]
            observed = (
                _("missing interfaces: {names}", names=", ".join(missing))
                if missing
                else _("{interfaces} exists", interfaces=text)
            )
            yield expect(not missing, observed=observed, expected=f"{name}={text} (jobs.variables)")


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(entry.strip() for entry in text.lstrip("=").split(",") if entry.strip()))


def _exists(name: str, interface_names: set[str], *, exact: bool) -> bool:
    """True if an interface has the name as a prefix, or exactly where the list starts with `=` (NCCL user guide)."""
    return (
        name in interface_names
        if exact
        else any(interface_name.startswith(name) for interface_name in interface_names)
    )
