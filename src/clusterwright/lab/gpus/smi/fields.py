"""Fields of `--query-gpu`, by the names in `nvidia-smi --help-query-gpu`: unit, and function to read it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from clusterwright.lab.gpus.smi.nvml import CORRUPTED_INFOROM, NvmlError, SimulatedGpu

MIB = 2**20
CLOCKS = {"graphics": 0, "sm": 1, "memory": 2, "video": 3}
REASONS = {
    "gpu_idle": 0x1, "applications_clocks_setting": 0x2, "sw_power_cap": 0x4, "hw_slowdown": 0x8,
    "sync_boost": 0x10, "sw_thermal_slowdown": 0x20, "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
}  # fmt: skip
LOCATIONS = {
    "l1_cache": 0, "l2_cache": 1, "device_memory": 2, "dram": 2, "register_file": 3, "texture_memory": 4,
    "cbu": 6, "sram": 7,
}  # fmt: skip
MODES = ("Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process")
# Fields of the real program that no simulated GPU has.
ABSENT = (
    "accounting.buffer_size", "display_attached", "driver_model.current",
    "driver_model.pending", "encoder.stats.averageFps", "encoder.stats.averageLatency",
    "encoder.stats.sessionCount", "fabric.state", "fabric.status", "fan.speed", "gom.current", "gom.pending",
    "gsp.mode.current", "gsp.mode.default", "utilization.decoder",
    "utilization.encoder", "utilization.jpeg", "utilization.ofa",
)  # fmt: skip


@dataclass(frozen=True)
class Field:
    """A field of the query: the function that reads it, and its unit ("" for text)."""

    read: Callable[[SimulatedGpu], object]
    unit: str = ""


def _text(function: str) -> Field:
    return Field(lambda gpu: gpu.text(function))


def _number(function: str, *arguments: int, unit: str = "") -> Field:
    return Field(lambda gpu: gpu.number(function, *arguments), unit)


def _big(function: str, *arguments: int) -> Field:
    return Field(lambda gpu: gpu.big(function, *arguments))


def _watts(function: str) -> Field:
    return Field(lambda gpu: f"{gpu.number(function) / 1000:.2f}", "W")


def _nth_number(function: str, index: int, count: int, labels: tuple[str, ...] = ()) -> Field:
    def read(gpu: SimulatedGpu) -> object:
        number = gpu.numbers(function, count)[index]
        return labels[number] if labels else number

    return Field(read)


def _limit(index: int) -> Field:
    function = "nvmlDeviceGetPowerManagementLimitConstraints"
    return Field(lambda gpu: f"{gpu.numbers(function, 2)[index] / 1000:.2f}", "W")


def _memory(part: str) -> Field:
    return Field(lambda gpu: getattr(gpu.memory(), part) // MIB, "MiB")


def _reason(mask: int) -> Field:
    def read(gpu: SimulatedGpu) -> str:
        active = gpu.big("nvmlDeviceGetCurrentClocksEventReasons") & mask
        return "Active" if active else "Not Active"

    return Field(read)


def _mask(function: str) -> Field:
    return Field(lambda gpu: f"0x{gpu.big(function):016X}")


def _pages(cause: int) -> Field:
    return Field(lambda gpu: gpu.retired_pages(cause))


def _inforom(gpu: SimulatedGpu) -> str:
    try:
        gpu.nvml.call("nvmlDeviceValidateInforom", gpu.handle)
    except NvmlError as error:
        if error.code != CORRUPTED_INFOROM:
            raise
        return "invalid"
    return "valid"


def _margin(gpu: SimulatedGpu) -> int:
    """Return how many degrees Celsius the GPU may still heat up before it slows down."""
    slowdown = gpu.number("nvmlDeviceGetTemperatureThreshold", 1)
    return slowdown - gpu.number("nvmlDeviceGetTemperature", 0)


def _absent(_: SimulatedGpu) -> object:
    return "[N/A]"


def _general() -> dict[str, Field]:
    enabled = ("Disabled", "Enabled")
    pci = Field(lambda gpu: gpu.pci())
    return {
        "timestamp": Field(lambda _: time.strftime("%Y/%m/%d %H:%M:%S.000")),
        "driver_version": Field(lambda gpu: gpu.nvml.text("nvmlSystemGetDriverVersion")),
        "count": Field(lambda gpu: gpu.nvml.count()),
        "index": Field(lambda gpu: gpu.index),
        "name": _text("nvmlDeviceGetName"),
        "serial": _text("nvmlDeviceGetSerial"),
        "uuid": _text("nvmlDeviceGetUUID"),
        "vbios_version": _text("nvmlDeviceGetVbiosVersion"),
        "inforom.img": _text("nvmlDeviceGetInforomImageVersion"),
        "inforom.checksum_validation": Field(_inforom),
        "pci.bus_id": pci,
        "pci.domain": Field(lambda gpu: f"0x{gpu.pci()[4:8]}"),
        "pci.bus": Field(lambda gpu: f"0x{gpu.pci()[9:11]}"),
        "pci.device": Field(lambda gpu: f"0x{gpu.pci()[12:14]}"),
        "pci.device_id": Field(lambda gpu: f"0x{gpu.pci_ids()[0]:08X}"),
        "pci.sub_device_id": Field(lambda gpu: f"0x{gpu.pci_ids()[1]:08X}"),
        "persistence_mode": _nth_number("nvmlDeviceGetPersistenceMode", 0, 1, enabled),
        "compute_mode": _nth_number("nvmlDeviceGetComputeMode", 0, 1, MODES),
        "accounting.mode": Field(lambda _: "Disabled"),
        "display_mode": Field(lambda _: "Disabled"),
        "display_active": Field(lambda _: "Disabled"),
        "mig.mode.current": _nth_number("nvmlDeviceGetMigMode", 0, 2, enabled),
        "mig.mode.pending": _nth_number("nvmlDeviceGetMigMode", 1, 2, enabled),
        "compute_cap": Field(
            lambda gpu: "{}.{}".format(*gpu.numbers("nvmlDeviceGetCudaComputeCapability", 2))
        ),
        "pstate": Field(lambda gpu: f"P{gpu.number('nvmlDeviceGetPerformanceState')}"),
        **{f"inforom.{part}": _text("nvmlDeviceGetInforomImageVersion") for part in ("oem", "ecc", "pwr")},
    }


def _health() -> dict[str, Field]:
    enabled, yes = ("Disabled", "Enabled"), ("No", "Yes")
    rows = ("correctable", "uncorrectable", "pending", "failure")
    return {
        "ecc.mode.current": _nth_number("nvmlDeviceGetEccMode", 0, 2, enabled),
        "ecc.mode.pending": _nth_number("nvmlDeviceGetEccMode", 1, 2, enabled),
        "retired_pages.single_bit_ecc.count": _pages(0),
        "retired_pages.double_bit.count": _pages(1),
        "retired_pages.pending": _nth_number("nvmlDeviceGetRetiredPagesPendingStatus", 0, 1, yes),
        **{
            f"remapped_rows.{row}": _nth_number("nvmlDeviceGetRemappedRows", i, 4)
            for i, row in enumerate(rows)
        },
        **{
            f"remapped_rows.histogram.{bank}": _nth_number("nvmlDeviceGetRowRemapperHistogram", i, 5)
            for i, bank in enumerate(("max", "high", "partial", "low", "none"))
        },
        **{name: field for kind in range(2) for period in range(2) for name, field in _ecc(kind, period)},
    }


def _ecc(kind: int, period: int) -> list[tuple[str, Field]]:
    begin = f"ecc.errors.{('corrected', 'uncorrected')[kind]}.{('volatile', 'aggregate')[period]}"
    counter = "nvmlDeviceGetMemoryErrorCounter"
    counts = [
        (f"{begin}.{name}", _big(counter, kind, period, location)) for name, location in LOCATIONS.items()
    ]
    return [*counts, (f"{begin}.total", _big("nvmlDeviceGetTotalEccErrors", kind, period))]


def _pace() -> dict[str, Field]:
    fields = {
        "temperature.gpu": _number("nvmlDeviceGetTemperature", 0),
        "temperature.memory": Field(lambda gpu: gpu.field(82)),
        "temperature.gpu.tlimit": Field(_margin),
        "power.management": _nth_number("nvmlDeviceGetPowerManagementMode", 0, 1, ("Disabled", "Enabled")),
        "power.min_limit": _limit(0),
        "power.max_limit": _limit(1),
        "clocks_event_reasons.supported": _mask("nvmlDeviceGetSupportedClocksEventReasons"),
        "clocks_event_reasons.active": _mask("nvmlDeviceGetCurrentClocksEventReasons"),
        **{f"clocks_event_reasons.{name}": _reason(mask) for name, mask in REASONS.items()},
        **{f"utilization.{part}": _utilization(index) for index, part in enumerate(("gpu", "memory"))},
        **{f"memory.{part}": _memory(part) for part in ("total", "reserved", "used", "free")},
    }
    for name in ("power.draw", "power.draw.average", "power.draw.instant"):
        fields[name] = _watts("nvmlDeviceGetPowerUsage")
    for name, function in (
        ("power.limit", "nvmlDeviceGetPowerManagementLimit"),
        ("enforced.power.limit", "nvmlDeviceGetEnforcedPowerLimit"),
        ("power.default_limit", "nvmlDeviceGetPowerManagementDefaultLimit"),
    ):
        fields[name] = _watts(function)
    return fields


def _utilization(index: int) -> Field:
    return Field(lambda gpu: gpu.utilization()[index], "%")


def _clocks() -> dict[str, Field]:
    kinds = {
        "clocks.current": "nvmlDeviceGetClockInfo", "clocks.max": "nvmlDeviceGetMaxClockInfo",
        "clocks.applications": "nvmlDeviceGetApplicationsClock",
        "clocks.default_applications": "nvmlDeviceGetDefaultApplicationsClock",
    }  # fmt: skip
    return {
        f"{kind}.{clock}": _number(function, number, unit="MHz")
        for kind, function in kinds.items()
        for clock, number in CLOCKS.items()
    }


def _pcie() -> dict[str, Field]:
    return {
        "pcie.link.gen.current": _number("nvmlDeviceGetCurrPcieLinkGeneration"),
        "pcie.link.gen.gpucurrent": _number("nvmlDeviceGetCurrPcieLinkGeneration"),
        "pcie.link.gen.max": _number("nvmlDeviceGetMaxPcieLinkGeneration"),
        "pcie.link.gen.gpumax": _number("nvmlDeviceGetGpuMaxPcieLinkGeneration"),
        "pcie.link.gen.hostmax": _number("nvmlDeviceGetMaxPcieLinkGeneration"),
        "pcie.link.width.current": _number("nvmlDeviceGetCurrPcieLinkWidth"),
        "pcie.link.width.max": _number("nvmlDeviceGetMaxPcieLinkWidth"),
    }


def _aliases(fields: dict[str, Field]) -> dict[str, Field]:
    short = {f"gpu_{name}": fields[name] for name in ("name", "serial", "uuid")} | {
        "gpu_bus_id": fields["pci.bus_id"],
        "retired_pages.sbe": fields["retired_pages.single_bit_ecc.count"],
        "retired_pages.dbe": fields["retired_pages.double_bit.count"],
    }
    for name, field in fields.items():
        if name.startswith("clocks_event_reasons."):
            short[name.replace("event", "throttle")] = field
        if name.startswith("clocks."):
            brief = name.replace(".current", "").replace("graphics", "gr").replace("memory", "mem")
            short[brief] = short[name.replace("graphics", "gr").replace("memory", "mem")] = field
    return short


@cache
def fields() -> dict[str, Field]:
    """Return all fields of `nvidia-smi --query-gpu` by name, also by their short names."""
    absent = {name: Field(_absent) for name in ABSENT}
    all_fields = absent | _general() | _health() | _pace() | _clocks() | _pcie()
    return all_fields | _aliases(all_fields)
