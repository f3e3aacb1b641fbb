"""An NVLink of a GPU is down, XID 74; a reboot does not bring it back."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.lab.gpus.gpu import SimulatedGpu, chosen
from clusterwright.lab.layout import LabHost
from clusterwright.lab.options import parse_number
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ("gpu", "link")
LASTS = True


def refuse(lab: LabState, host: LabHost, options: Mapping[str, str]) -> None:
    """Raise a WrightError if the host has no such GPU, or the GPU no such NVLink; else do nothing."""
    _link(chosen(lab, host, options), options)


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Set the NVLink of the options (default: the GPU's first) inactive, with raised error counters; log XID 74."""
    gpu = chosen(lab, host, options)
    link = _link(gpu, options)
    counters = {"replay": 12, "recovery": 3, "crc_flit": 40}
    rows = {"down": 1, **counters}
    gpu.set_values(
        f"nvlink-down-{link}", lasting={f"nvlink.{link}.{key}": value for key, value in rows.items()}
    )
    gpu.xid(74, f"NVLink: fatal error detected on link {link}(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)")
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Bring the NVLink up, with counters at zero; return the lab's state."""
    gpu = chosen(lab, host, options)
    gpu.clear_values(f"nvlink-down-{_link(gpu, options)}")
    return lab


def _link(gpu: SimulatedGpu, options: Mapping[str, str]) -> int:
    if not gpu.gpus.nvlinks:
        message, fix = (
            _("the GPUs of {host} have no NVLink", host=gpu.host.name),
            _("set nodes.GROUP.gpus.nvlink: true"),
        )
        raise WrightError.from_code("lab-no-gpus", message, fix)
    return parse_number(options, "link", 0, gpu.gpus.nvlinks)
