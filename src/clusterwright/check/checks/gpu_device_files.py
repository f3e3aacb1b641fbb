"""The GPUs have device files."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.gpu_files import gpu_files
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Verdict


@check(
    gpu_files,
    when=has_gpus,
    on=("deploy", "periodic", "prolog", "boot"),
    mend="`dmesg | grep -i xid` for a GPU that is lost; `nvidia-modprobe -c 0` makes a missing file",
)
def gpu_device_files(want: Want, have: dict[str, str]) -> Verdict:
    """Every declared GPU has its character device, the very files that gres.conf names."""
    gpus = want.host.group.gpus
    wanted = gpus.device_files() if gpus else ()
    missing = [path for path in wanted if have.get(path) != "character special file"]
    saw = f"no device {', '.join(missing)}" if missing else f"{len(wanted)} device files"
    return expect(
        not missing, saw=saw, want=f"{wanted[0]} to {wanted[-1]} (nodes.{want.host.group_name}.gpus)"
    )
