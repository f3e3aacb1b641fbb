"""The GPUs have device files."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpu_files import gpu_files
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Verdict


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
    observed = f"no device {', '.join(missing)}" if missing else f"{len(device_files)} device files"
    return expect(
        not missing,
        observed=observed,
        expected=f"{device_files[0]} to {device_files[-1]} (nodes.{spec.host.group_name}.gpus)",
    )
