"""Every declared GPU has its device file."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpu_files import gpu_files
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _, _n


@check(
    gpu_files,
    when=has_gpus,
    on=("deploy", "periodic", "prolog", "boot"),
    fix="run `nvidia-modprobe -c 0` to create a missing file; `dmesg | grep -i xid` shows a GPU that fell off the bus",
    in_jobs=True,
)
def gpu_device_files(spec: HostSpec, have: dict[str, str]) -> Verdict:
    """Every declared GPU has the character device that gres.conf names."""
    gpus = spec.host.group.gpus
    device_files = gpus.device_files() if gpus else ()
    missing = [path for path in device_files if have.get(path) != "character special file"]
    observed = (
        _("missing device files: {paths}", paths=", ".join(missing))
        if missing
        else _n("{count} device file", "{count} device files", len(device_files))
    )
    return expect(
        not missing,
        observed=observed,
        expected=_(
            "the device files {first} to {last} (nodes.{group}.gpus)",
            first=device_files[0],
            last=device_files[-1],
            group=spec.host.group_name,
        ),
    )
