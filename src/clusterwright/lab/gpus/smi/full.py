"""`nvidia-smi -q`: all values of each GPU, in sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.lab.gpus.smi.fields import LOCATIONS, REASONS, fields
from clusterwright.lab.gpus.smi.nvml import Nvml, SimulatedGpu
from clusterwright.lab.gpus.smi.query import value_of
from clusterwright.lab.gpus.smi.table import BANNER

Rows = dict[str, str]  # label to field


def _label(name: str) -> str:
    upper = {"gpu": "GPU", "sw": "SW", "hw": "HW", "l1": "L1", "l2": "L2", "cbu": "CBU", "dram": "DRAM",
             "sram": "SRAM", "sm": "SM"}  # fmt: skip
    return " ".join(upper.get(token, token.capitalize()) for token in name.split("_"))


def _ecc(period: str) -> Rows:
    return {
        f"{location} {_label(kind[:-2] + 'able')}": f"ecc.errors.{kind}.{period}.{name}"
        for name, location in {
            **{key: _label(key) for key in LOCATIONS if key != "device_memory"},
            "total": "Total",
        }.items()
        for kind in ("corrected", "uncorrected")
    }


_CLOCKS = ("graphics", "sm", "memory", "video")
# Section: label to field. The first, without a name, has the GPU's own values.
SECTIONS: dict[str, Rows] = {
    "": {
        "Product Name": "name",
        "Display Mode": "display_mode",
        "Display Active": "display_active",
        "Persistence Mode": "persistence_mode",
        "Serial Number": "serial",
        "GPU UUID": "uuid",
        "VBIOS Version": "vbios_version",
        "Performance State": "pstate",
        "Compute Mode": "compute_mode",
    },
    "MIG Mode": {"Current": "mig.mode.current", "Pending": "mig.mode.pending"},
    "PCI": {
        "Bus": "pci.bus",
        "Device": "pci.device",
        "Domain": "pci.domain",
        "Device Id": "pci.device_id",
        "Bus Id": "pci.bus_id",
        "Sub System Id": "pci.sub_device_id",
        "Link Generation Max": "pcie.link.gen.max",
        "Link Generation Current": "pcie.link.gen.current",
        "Link Width Max": "pcie.link.width.max",
        "Link Width Current": "pcie.link.width.current",
    },
    "Clocks Event Reasons": {_label(name): f"clocks_event_reasons.{name}" for name in REASONS},
    "FB Memory Usage": {_label(part): f"memory.{part}" for part in ("total", "reserved", "used", "free")},
    "Utilization": {"GPU": "utilization.gpu", "Memory": "utilization.memory"},
    "ECC Mode": {"Current": "ecc.mode.current", "Pending": "ecc.mode.pending"},
    "ECC Errors Volatile": _ecc("volatile"),
    "ECC Errors Aggregate": _ecc("aggregate"),
    "Retired Pages": {
        "Single Bit ECC": "retired_pages.sbe",
        "Double Bit ECC": "retired_pages.dbe",
        "Pending Page Blacklist": "retired_pages.pending",
    },
    "Remapped Rows": {
        "Correctable Error": "remapped_rows.correctable",
        "Uncorrectable Error": "remapped_rows.uncorrectable",
        "Pending": "remapped_rows.pending",
        "Remapping Failure Occurred": "remapped_rows.failure",
    },
    "Temperature": {"GPU Current Temp": "temperature.gpu", "Memory Current Temp": "temperature.memory"},
    "GPU Power Readings": {
        "Power Draw": "power.draw",
        "Current Power Limit": "power.limit",
        "Requested Power Limit": "enforced.power.limit",
        "Default Power Limit": "power.default_limit",
        "Min Power Limit": "power.min_limit",
        "Max Power Limit": "power.max_limit",
    },
    "Clocks": {_label(name): f"clocks.current.{name}" for name in _CLOCKS},
    "Applications Clocks": {_label(name): f"clocks.applications.{name}" for name in ("graphics", "memory")},
    "Max Clocks": {_label(name): f"clocks.max.{name}" for name in _CLOCKS},
}

# The names for `-d`, and the start of the section names here.
DISPLAY: dict[str, str | tuple[str, ...]] = {
    "MEMORY": "FB Memory", "UTILIZATION": "Utilization", "ECC": "ECC", "TEMPERATURE": "Temperature",
    "POWER": "GPU Power", "CLOCK": ("Clocks", "Applications", "Max"), "PAGE_RETIREMENT": "Retired",
    "ROW_REMAPPER": "Remapped", "PERFORMANCE": "Clocks Event",
}  # fmt: skip


def full(nvml: Nvml, gpus: Sequence[SimulatedGpu], display: Sequence[str] = ()) -> Iterator[str]:
    """Yield the lines of `nvidia-smi -q` about the GPUs: of the sections in `display`, or of all if it is empty."""
    sections = tuple(name for name in SECTIONS if not display or _is_of(name, display))
    yield BANNER
    yield "\n==============NVSMI LOG==============\n"
    yield _line(0, "Driver Version", nvml.text("nvmlSystemGetDriverVersion"))
    yield _line(0, "CUDA Version", nvml.cuda())
    yield ""
    yield _line(0, "Attached GPUs", str(nvml.count()))
    for gpu in gpus:
        yield f"GPU {gpu.pci()}"
        for section in sections:
            rows = SECTIONS[section]
            if section:
                yield f"    {section}"
            deep = 8 if section else 4
            yield from (_line(deep, label, _value(gpu, field)) for label, field in rows.items())
        if not display:
            yield _line(4, "Processes", ", ".join(str(process.pid) for process in gpu.processes()) or "None")
        yield ""


def _is_of(section: str, display: Sequence[str]) -> bool:
    return any(section.startswith(DISPLAY[name]) for name in display)


def _value(gpu: SimulatedGpu, name: str) -> str:
    value, unit = value_of(gpu, name), fields()[name].unit
    if name in (
        "remapped_rows.pending",
        "remapped_rows.failure",
    ):  # numbers in queries, words here, as in the real program
        return {"0": "No", "1": "Yes"}.get(value, value.strip("[]"))
    if value.startswith("["):
        return value.strip("[]")
    return f"{value} {unit}" if unit else value


def _line(deep: int, label: str, value: str) -> str:
    return f"{' ' * deep + label:<50}: {value}"
