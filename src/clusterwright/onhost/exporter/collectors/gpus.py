"""GPU metrics by NVML, in a process that lives on between collections; a hanging driver blocks this process only."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional

from clusterwright.onhost.exporter.nvml import Nvml, NvmlError, NvmlGpu
from clusterwright.onhost.exporter.settings import ExporterSettings
from clusterwright.onhost.exporter.text import Family, counter, gauge

EVERY_S, TIMEOUT_S, STAYS = 10.0, 10.0, True
LINKS = 18  # NVLinks per GPU at most (Hopper, Blackwell)
LINKS_EVERY = 6  # collections per reading: a link takes five queries, and its errors are counters
_TEMPERATURE, _SM, _CORRECTED, _UNCORRECTED, _VOLATILE = 0, 1, 0, 1, 0
_LINK_COUNTERS = (0, 1, 2, 3)  # nvmlNvLinkErrorCounter_t: replay, recovery, CRC of flits and of data
# Bits of nvmlClocksEventReasons, without the software power cap, which is no fault.
THROTTLED = {"hardware": 0x8, "thermal": 0x20 | 0x40, "power": 0x80}
_GPU_IS_LOST = 15


def is_enabled(settings: ExporterSettings) -> bool:
    """Return True if the cluster file declares GPUs for this host."""
    return settings.gpus > 0


def collect(_settings: ExporterSettings, state: Dict[Any, Any]) -> Iterator[Family]:
    """Yield the metrics of all GPUs that respond; without the driver's library only `gpus_seen` with 0."""
    visible = gauge("gpus_seen", "GPUs that respond to the driver.")
    nvml = state.get("nvml")
    if nvml is None:
        try:
            nvml = state["nvml"] = Nvml()
        except OSError:
            yield visible.add(0)
            return
    gpus = nvml.gpus()
    yield visible.add(len(gpus))
    families = _families()
    driver = nvml.driver()
    for gpu in gpus:
        try:
            _read_gpu(gpu, families, driver, state)
        except NvmlError as error:
            if error.code != _GPU_IS_LOST:
                raise
    state["round"] = state.get("round", 0) + 1
    yield from families.values()


def _families() -> Dict[str, Family]:
    named = {
        "info": "1 for each GPU that responds.", "utilisation_ratio": "Share of the time in which kernels ran.",
        "memory_used_bytes": "Memory in use.", "memory_total_bytes": "Total memory.",
        "temperature_celsius": "Temperature of the GPU.", "power_watts": "Power draw.",
        "sm_clock_hertz": "SM clock.", "remap_pending": "1 if a row remapping waits for a GPU reset.",
        "remap_failed": "1 if a row remapping failed.", "nvlinks_active": "Active NVLinks.",
        "throttled": "1 while the clock is throttled for this reason.",
    }  # fmt: skip
    counted = {
        "energy_joules_total": "Energy consumed since the driver was loaded.",
        "ecc_uncorrected_total": "Uncorrected memory errors since the driver was loaded.",
        "ecc_corrected_total": "Corrected memory errors since the driver was loaded.",
        "pcie_replays_total": "PCIe replays.",
        "nvlink_errors_total": "Replays, recoveries and CRC errors of all NVLinks of the GPU.",
    }
    families = {name: gauge(f"gpu_{name}", meaning) for name, meaning in named.items()}
    families.update({name: counter(f"gpu_{name}", meaning) for name, meaning in counted.items()})
    return families


def _read_gpu(gpu: NvmlGpu, into: Dict[str, Family], driver: str, state: Dict[Any, Any]) -> None:
    label = str(gpu.index)
    name = state.setdefault(("name", gpu.uuid), "") or gpu.text("nvmlDeviceGetName")
    state["name", gpu.uuid] = name
    into["info"].add(1, gpu=label, uuid=gpu.uuid, name=name, driver=driver)
    used, total = gpu.memory()
    _corrected, _uncorrected, pending, failed = gpu.several("nvmlDeviceGetRemappedRows", 4)
    values = {
        "utilisation_ratio": _scaled(gpu.busy(), 0.01), "memory_used_bytes": used, "memory_total_bytes": total,
        "temperature_celsius": gpu.number("nvmlDeviceGetTemperature", _TEMPERATURE),
        "power_watts": _scaled(gpu.number("nvmlDeviceGetPowerUsage"), 1e-3),
        "energy_joules_total": _scaled(gpu.big("nvmlDeviceGetTotalEnergyConsumption"), 1e-3),
        "sm_clock_hertz": _scaled(gpu.number("nvmlDeviceGetClockInfo", _SM), 1e6),
        "ecc_uncorrected_total": gpu.big("nvmlDeviceGetTotalEccErrors", _UNCORRECTED, _VOLATILE),
        "ecc_corrected_total": gpu.big("nvmlDeviceGetTotalEccErrors", _CORRECTED, _VOLATILE),
        "pcie_replays_total": gpu.number("nvmlDeviceGetPcieReplayCounter"),
        "remap_pending": pending, "remap_failed": failed, **_links(gpu, state),
    }  # fmt: skip
    for key, value in values.items():
        into[key].add(value, gpu=label)
    reasons = gpu.big("nvmlDeviceGetCurrentClocksThrottleReasons")
    for reason, bits in THROTTLED.items():
        into["throttled"].add(
            None if reasons is None else float(bool(reasons & bits)), gpu=label, reason=reason
        )


def _links(gpu: NvmlGpu, state: Dict[Any, Any]) -> Dict[str, Optional[float]]:
    """Return a GPU's number of active NVLinks and of NVLink errors, by metric name; None for both without NVLinks.

    They are read every LINKS_EVERY collections and cached in between.
    """
    key = ("links", gpu.uuid)
    if key not in state or state.get("round", 0) % LINKS_EVERY == 0:
        links = {number: gpu.link(number) for number in range(LINKS)}
        present = [number for number, up in links.items() if up is not None]
        state[key] = {
            "nvlinks_active": float(sum(map(bool, links.values()))) if present else None,
            "nvlink_errors_total": float(sum(_errors(gpu, number) for number in present))
            if present
            else None,
        }
    values: Dict[str, Optional[float]] = state[key]
    return values


def _errors(gpu: NvmlGpu, link: int) -> int:
    counts: List[Optional[int]] = [
        gpu.big("nvmlDeviceGetNvLinkErrorCounter", link, which) for which in _LINK_COUNTERS
    ]
    return sum(count for count in counts if count is not None)


def _scaled(value: Optional[int], factor: float) -> Optional[float]:
    return None if value is None else value * factor
