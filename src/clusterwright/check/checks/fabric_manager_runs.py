"""Nvidia-fabricmanager runs where there are NVSwitches."""

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
    fix="install nvidia-fabricmanager in exactly the driver's version, then run "
    "`systemctl enable --now nvidia-fabricmanager`",
    in_jobs=True,
)
def fabric_manager_runs(_spec: HostSpec, have: FabricManager, driver: Driver) -> Verdict:
    """With NVSwitches, nvidia-fabricmanager runs in the driver's version; otherwise CUDA fails with error 802."""
    if not have.switches:
        return skip(_("no NVSwitch: NVLink connects the GPUs directly, without nvidia-fabricmanager"))
    of_driver = next((gpu.driver for gpu in driver.gpus), "")
    unready = sorted({gpu.fabric for gpu in driver.gpus if gpu.fabric not in (None, "Completed")} - {None})
    faults = [
        *([] if have.state == "active" else [_("nvidia-fabricmanager is {state}", state=have.state)]),
        *(
            [_("nvidia-fabricmanager has version {version}", version=have.version)]
            if have.version and of_driver and have.version != of_driver
            else []
        ),
        *(
            _("the fabric state that nvidia-smi reports for a GPU is {state}", state=state)
            for state in unready
        ),
    ]
    expected = _(
        "nvidia-fabricmanager active in the driver's version {version}; NVSwitches: {count}",
        version=of_driver or _("(unknown)"),
        count=have.switches,
    )
    return expect(
        not faults,
        observed="; ".join(faults) or " ".join(filter(None, ("active", have.version))),
        expected=expected,
    )
