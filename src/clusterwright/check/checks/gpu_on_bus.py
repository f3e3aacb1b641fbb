"""Every GPU on the PCI bus answers the driver."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, gpus
from clusterwright.check.facts.pci_gpus import pci_gpus
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _, _n


def _in_lab(spec: HostSpec) -> str:
    return _("simulated GPUs of a lab are not on the PCI bus") if spec.cluster.lab else ""


@check(
    (pci_gpus, gpus),
    when=has_gpus,
    unless=_in_lab,
    field="nodes.{group}.gpus.count",
    fix="drain and reboot the host; if the GPU is still missing, power the host off and reseat or replace the GPU",
)
def gpu_on_bus(spec: HostSpec, have: tuple[str, ...], driver: Driver) -> Iterator[Verdict]:
    """The PCI bus, the driver and gres.conf have the same number of GPUs: none has fallen off the bus."""
    declared = spec.host.group.gpus
    count = declared.count if declared else 0
    expected = _(
        "{count} GPUs on the PCI bus and in the driver (nodes.{group}.gpus.count)",
        count=count,
        group=spec.host.group_name,
    )
    mute = sorted(set(have) - {gpu.pci for gpu in driver.gpus})
    if len(have) != count:
        yield fault(
            observed=_n("{count} GPU on the PCI bus", "{count} GPUs on the PCI bus", len(have)),
            expected=expected,
        )
    for address in mute:
        yield fault(
            observed=_(
                "the GPU at {address} is on the PCI bus but does not answer the driver", address=address
            ),
            expected=expected,
        )
    if len(have) == count and not mute:
        yield fine(
            observed=_("{count} GPUs on the PCI bus, all in the driver", count=count), expected=expected
        )
