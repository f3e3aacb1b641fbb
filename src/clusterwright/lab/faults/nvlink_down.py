"""An NVLink of a GPU is down, XID 74; a reboot does not bring it back."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.errors import WrightError
from clusterwright.lab.gpus.one import OneGpu, chosen
from clusterwright.lab.layout import LabHost
from clusterwright.lab.options import whole
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ("gpu", "link")
LASTS = True


def refuse(lab: LabState, host: LabHost, options: Mapping[str, str]) -> None:
    """Where there is no such GPU, or it has no such link."""
    _link(chosen(lab, host, options), options)


def strike(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """The link, the first unless named, is inactive; its error counters have grown before."""
    gpu = chosen(lab, host, options)
    link = _link(gpu, options)
    counters = {"replay": 12, "recovery": 3, "crc_flit": 40}
    rows = {"down": 1, **counters}
    gpu.put(f"nvlink-down-{link}", lasting={f"nvlink.{link}.{key}": each for key, each in rows.items()})
    gpu.xid(74, f"NVLink: fatal error detected on link {link}(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)")
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """The link is up, its counters are at zero."""
    gpu = chosen(lab, host, options)
    gpu.take(f"nvlink-down-{_link(gpu, options)}")
    return lab


def _link(gpu: OneGpu, options: Mapping[str, str]) -> int:
    if not gpu.gpus.nvlinks:
        what, mend = f"the GPUs of {gpu.host.name} have no NVLink", "set nodes.GROUP.gpus.nvlink: true"
        raise WrightError.of("lab-no-gpus", what, mend)
    return whole(options, "link", 0, gpu.gpus.nvlinks)
