"""The GPUs have device files."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpu_files import gpu_files
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


@check(
    gpu_files,
    when=has_gpus,
    on=("deploy", "periodic", "prolog", "boot"),
    fix="`dmesg | grep -i xid` for a GPU that is lost; `nvidia-modprobe -c 0` makes a missing file",
)
def gpu_device_files(spec: HostSpec, have: dict[str, str]) -> Verdict:
    """Every declared GPU has its character device, the very files that gres.conf names."""
    gpus = spec.host.group.gpus
    device_files = gpus.device_files() if gpus else ()
    missing = [path for path in device_files if have.get(path) != "character special file"]
    observed = (
        _("no device {missing}", missing=", ".join(missing))
        if missing
        else _("{count} device files", count=len(device_files))
    )
    return expect(
        not missing,
        observed=observed,
        expected=_(
            "{device_files} to {device_files2} (nodes.{group_name}.gpus)",
            device_files=device_files[0],
            device_files2=device_files[-1],
            group_name=spec.host.group_name,
        ),
    )
