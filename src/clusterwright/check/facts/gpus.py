"""The GPUs that answer the driver, and their properties in nvidia-smi."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from clusterwright.check.fact import HostSpec, fact
from clusterwright.check.kernel.lines import pci
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import parse_document
from clusterwright.units import MiB

# N/A, [N/A], [Not Supported], [Requested functionality has been deprecated], [Unknown Error]
_NONE = ("n/a", "[", "not supported")


def _text(text: str) -> str:
    return text


def _count(text: str) -> int:
    return int(text, 0)


def _number(text: str) -> float:
    return float(text)


def _mib(text: str) -> int:
    return int(text) * MiB


def _flag(text: str) -> bool:
    return {"yes": True, "no": False, "enabled": True, "disabled": False, "1": True, "0": False}[text.lower()]


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU; None for a value that the model does not have or the driver does not report."""

    index: int
    uuid: str = ""
    model: str = ""
    pci: str = ""
    driver: str = ""
    vbios: str = ""
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None
    load_percent: float | None = None
    persistent: bool | None = None
    ecc_now: bool | None = None
    ecc_pending: bool | None = None
    uncorrected: int | None = None
    uncorrected_aggregate: int | None = None
    uncorrected_sram_aggregate: int | None = None
    corrected: int | None = None
    corrected_aggregate: int | None = None
    retired_single: int | None = None
    retired_double: int | None = None
    retired_pending: bool | None = None
    remap_uncorrectable: int | None = None
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    banks_without_spare: int | None = None
    temperature_c: float | None = None
    margin_c: float | None = None
    slow_reasons: int | None = None
    sm_mhz: float | None = None
    sm_most_mhz: float | None = None
    pcie_gen: int | None = None
    pcie_gen_most: int | None = None
    pcie_gen_of_gpu: int | None = None
    pcie_width: int | None = None
    pcie_width_most: int | None = None
    mig: bool | None = None
    fabric: str | None = None
    inforom: str | None = None


# Names as `nvidia-smi --help-query-gpu` lists them; where there are two, drivers before 535 know the second.
_FIELDS: dict[str, tuple[Callable[[str], Any], tuple[str, ...]]] = {
    "index": (_count, ("index",)),
    "uuid": (_text, ("uuid",)),
    "model": (_text, ("name",)),
    "pci": (pci, ("pci.bus_id",)),
    "driver": (_text, ("driver_version",)),
    "vbios": (_text, ("vbios_version",)),
    "memory_bytes": (_mib, ("memory.total",)),
    "memory_used_bytes": (_mib, ("memory.used",)),
    "load_percent": (_number, ("utilization.gpu",)),
    "persistent": (_flag, ("persistence_mode",)),
    "ecc_now": (_flag, ("ecc.mode.current",)),
    "ecc_pending": (_flag, ("ecc.mode.pending",)),
    "uncorrected": (_count, ("ecc.errors.uncorrected.volatile.total",)),
    "uncorrected_aggregate": (_count, ("ecc.errors.uncorrected.aggregate.total",)),
    "uncorrected_sram_aggregate": (_count, ("ecc.errors.uncorrected.aggregate.sram",)),
    "corrected": (_count, ("ecc.errors.corrected.volatile.total",)),
    "corrected_aggregate": (_count, ("ecc.errors.corrected.aggregate.total",)),
    "retired_single": (_count, ("retired_pages.single_bit_ecc.count",)),
    "retired_double": (_count, ("retired_pages.double_bit.count",)),
    "retired_pending": (_flag, ("retired_pages.pending",)),
    "remap_uncorrectable": (_count, ("remapped_rows.uncorrectable",)),
    "remap_pending": (_flag, ("remapped_rows.pending",)),
    "remap_failed": (_flag, ("remapped_rows.failure",)),
    "banks_without_spare": (_count, ("remapped_rows.histogram.none",)),
    "temperature_c": (_number, ("temperature.gpu",)),
    "margin_c": (_number, ("temperature.gpu.tlimit",)),
    "slow_reasons": (_count, ("clocks_event_reasons.active", "clocks_throttle_reasons.active")),
    "sm_mhz": (_number, ("clocks.current.sm",)),
    "sm_most_mhz": (_number, ("clocks.max.sm",)),
    "pcie_gen": (_count, ("pcie.link.gen.current",)),
    "pcie_gen_most": (_count, ("pcie.link.gen.max",)),
    "pcie_gen_of_gpu": (_count, ("pcie.link.gen.gpumax",)),
    "pcie_width": (_count, ("pcie.link.width.current",)),
    "pcie_width_most": (_count, ("pcie.link.width.max",)),
    "mig": (_flag, ("mig.mode.current",)),
    "fabric": (_text, ("fabric.state",)),
    "inforom": (_text, ("inforom.checksum_validation",)),
}


TIMED_OUT = 124  # exit code of probes/nvidia_smi.py when nvidia-smi times out
_MISMATCH = "Driver/library version mismatch"  # as nvidia-smi words it


@dataclass(frozen=True, slots=True)
class Driver:
    """Output of nvidia-smi: the GPUs that answer, its other lines, and `absent` where it is not installed.

    `code` is `no-answer` (timeout) or `driver-mismatch` where that is why GPUs do not answer.
    """

    gpus: tuple[Gpu, ...]
    messages: tuple[str, ...]
    absent: bool = False
    code: str = ""

    @property
    def reason(self) -> str:
        """The first three messages of nvidia-smi, for a host without a GPU that answers; if none, a default text."""
        return "; ".join(self.messages[:3]) or _("nvidia-smi lists no GPU")


def _arguments(spec: HostSpec) -> Sequence[str]:
    gpus = spec.host.group.gpus
    return (str(gpus.count if gpus else 0), json.dumps([names for _read, names in _FIELDS.values()]))


@fact(_arguments, probe="nvidia_smi", limit_s=30)
def gpus(out: str) -> Driver:
    """GPUs that answer the driver, by one call of nvidia-smi; a GPU that fell off the bus is only in its messages.

    Or that nvidia-smi is not installed, did not answer in time, or does not match the driver.
    """
    document = parse_document(out)
    rows = tuple(_gpu(row) for row in document["rows"])
    messages = tuple(map(str, document["said"]))
    mismatch = "driver-mismatch" if any(_MISMATCH in line for line in messages) else ""
    code = "no-answer" if document["code"] == TIMED_OUT else mismatch
    return Driver(rows, messages, bool(document.get("absent", False)), code)


def _gpu(row: Mapping[str, str]) -> Gpu:
    values = {field.name: _value(field.name, row) for field in fields(Gpu)}
    if values["index"] is None:
        raise ValueError(row)
    return Gpu(**{name: value for name, value in values.items() if value is not None})


def _value(name: str, row: Mapping[str, str]) -> Any:
    read, names = _FIELDS[name]
    text = row.get(names[0], "").strip()
    return None if text.lower().startswith(_NONE) or not text else read(text)
