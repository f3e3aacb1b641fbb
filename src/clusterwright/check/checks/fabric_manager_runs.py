"""NVSwitches are set up."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, skip
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.fabric_manager import FabricManager, fabric_manager
from clusterwright.check.facts.gpus import Driver, gpus
from clusterwright.check.of_gpus import has_nvlink
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


@check(
    (fabric_manager, gpus),
    when=has_nvlink,
    on=("deploy", "periodic", "burn-in", "boot"),
    fix="install nvidia-fabricmanager of exactly the driver's version, and systemctl enable --now it",
)
def fabric_manager_runs(_spec: HostSpec, have: FabricManager, driver: Driver) -> Verdict:
    """Where there are NVSwitches, nvidia-fabricmanager runs in the driver's version: else CUDA says error 802."""
    if not have.switches:
        return skip(
            _("no NVSwitch: NVLinks join the GPUs directly, and nvidia-fabricmanager has nothing to do")
        )
    of_driver = next((gpu.driver for gpu in driver.gpus), "")
    unready = sorted({gpu.fabric for gpu in driver.gpus if gpu.fabric not in (None, "Completed")} - {None})
    faults = [
        *([] if have.state == "active" else [_("nvidia-fabricmanager is {state}", state=have.state)]),
        *(
            [_("it is {version}", version=have.version)]
            if have.version and of_driver and have.version != of_driver
            else []
        ),
        *(_("a GPU's fabric state is {state}", state=state) for state in unready),
    ]
    expected = _(
        "active, in the driver's version {of_driver}; {switches} NVSwitches",
        of_driver=of_driver or "(not known)",
        switches=have.switches,
    )
    return expect(
        not faults,
        observed="; ".join(faults) or f"active{f' {have.version}' if have.version else ''}",
        expected=expected,
    )
