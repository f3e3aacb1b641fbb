"""Every GPU of the bus answers the driver."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, gpus
from clusterwright.check.facts.pci_gpus import pci_gpus
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's GPUs are not on the PCI bus, which is the machine's own") if spec.cluster.lab else ""


@check(
    (pci_gpus, gpus),
    when=has_gpus,
    unless=_in_lab,
    field="nodes.{group}.gpus.count",
    fix="drain and reboot the host; a GPU that stays away: power off, reseat, replace",
)
def gpu_on_bus(spec: HostSpec, have: tuple[str, ...], driver: Driver) -> Iterator[Verdict]:
    """The bus, the driver and gres.conf count the same GPUs: one that fell off is missing in the first or second."""
    declared = spec.host.group.gpus
    count = declared.count if declared else 0
    expected = _(
        "{count} on the bus and in the driver (nodes.{group_name}.gpus.count, as gres.conf)",
        count=count,
        group_name=spec.host.group_name,
    )
    mute = sorted(set(have) - {gpu.pci for gpu in driver.gpus})
    if len(have) != count:
        yield fault(observed=_("{count} GPUs on the PCI bus", count=len(have)), expected=expected)
    for address in mute:
        yield fault(
            observed=_("the GPU at {address} is on the bus, but does not answer the driver", address=address),
            expected=expected,
        )
    if len(have) == count and not mute:
        yield fine(observed=_("{count} on the bus, all in the driver", count=count), expected=expected)
