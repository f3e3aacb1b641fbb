"""The initial state of simulated GPUs, and their files in /proc/driver/nvidia."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.lab.gpus.simulated import Simulated

ARCHITECTURES = {"Pascal": 4, "Volta": 5, "Turing": 6, "Ampere": 7, "Ada": 8, "Hopper": 9, "Blackwell": 10}
REMAPS_ROWS = frozenset({"", "Ampere", "Ada", "Hopper", "Blackwell"})  # other architectures retire pages
# SM and memory clock in MHz of A100 SXM, H100 SXM and V100 SXM2, by nvidia-smi; other GPUs use the first
CLOCKS_MHZ = {"Ampere": (1410, 1593), "Hopper": (1980, 2619), "Volta": (1530, 877)}
IDLE_SHARE = 0.15  # of the power limit: 61 of 400 W is what an idle A100 SXM draws
BANKS = 640  # of an 80 GB GPU, by nvidia-smi's remapping histogram

Rows = dict[str, object]


def render_state(gpus: Simulated) -> str:
    """Return the text of the state file of healthy GPUs: every key of driver and GPUs, one per line."""
    driver_rows: Rows = {
        "driver.version": gpus.driver,
        "driver.nvml": f"13.{gpus.driver}",
        "gpus": gpus.count,
    }
    if gpus.cuda:
        major, minor, *_ = [int(part) for part in gpus.cuda.split(".")] + [0]
        driver_rows["driver.cuda"] = major * 1000 + minor * 10
    return lines(driver_rows) + "".join(lines(_gpu_rows(gpus, index), index) for index in range(gpus.count))


def lines(rows: Rows, index: int | None = None) -> str:
    """Return keys and values as lines of the simulated GPUs' state file; `index` prefixes the keys of one GPU.

    None: keys of the driver.
    """
    begin = "" if index is None else f"{index}."
    return "".join(f"{begin}{key} {value}\n" for key, value in rows.items())


def _gpu_rows(gpus: Simulated, index: int) -> Rows:
    return _identity(gpus, index) | _pace(gpus, index) | _health(gpus) | _links(gpus, index)


def _identity(gpus: Simulated, index: int) -> Rows:
    rows: Rows = {
        "name": gpus.name,
        "uuid": gpus.uuid(index),
        "serial": f"SIMULATED-{gpus.uuid(index)[-6:]}",
        "board": "SIMULATED",
        "vbios": "SIMULATED",
        "inforom": "SIMULATED",
        "minor": index,
        "pci": gpus.address(index),
        "pci.device_id": "0x000010DE",
        "persistence": 1,
        "compute_mode": 0,
        "memory.total": gpus.memory_bytes,
    }
    if gpus.arch in ARCHITECTURES:
        rows["architecture"] = ARCHITECTURES[gpus.arch]
    if gpus.capability:
        rows["capability.major"], rows["capability.minor"] = gpus.capability.split(".")
    return rows


def clocks_mhz(gpus: Simulated) -> tuple[int, int]:
    """Return the SM and the memory clock of simulated GPUs in MHz."""
    return CLOCKS_MHZ.get(gpus.arch, CLOCKS_MHZ["Ampere"])


def _pace(gpus: Simulated, index: int) -> Rows:
    sm_mhz, memory_mhz = clocks_mhz(gpus)
    limit_mw = gpus.power_w * 1000
    rows: Rows = {
        "temperature": 30 + index % 8, "temperature.memory": 40, "temperature.shutdown": 92,
        "temperature.slowdown": 89, "temperature.gpu_max": 85, "temperature.memory_max": 95,
        "power": int(limit_mw * IDLE_SHARE), "power.management": 1, "power.limit": limit_mw,
        "power.default_limit": limit_mw, "power.min_limit": limit_mw // 4, "power.max_limit": limit_mw,
        "pstate": 0, "utilization.gpu": 0, "utilization.memory": 0, "clock.reasons": 0,
    }  # fmt: skip
    clocks = {"graphics": sm_mhz, "sm": sm_mhz, "memory": memory_mhz, "video": sm_mhz}
    for kind in ("clock", "clock.max", "clock.applications"):
        rows |= {f"{kind}.{name}": mhz for name, mhz in clocks.items()}
    return rows


def _health(gpus: Simulated) -> Rows:
    rows: Rows = {"ecc.current": 1, "ecc.pending": 1}
    if gpus.arch in REMAPS_ROWS:
        rows |= {"mig.current": 0, "mig.pending": 0, "remap.corrected": 0, "remap.uncorrected": 0}
        return rows | {"remap.pending": 0, "remap.failure": 0, "remap.banks": BANKS}
    return rows | {"retired.single_bit": 0, "retired.double_bit": 0, "retired.pending": 0}


def _links(gpus: Simulated, index: int) -> Rows:
    rows: Rows = {
        "pcie.gen": gpus.pcie_gen,
        "pcie.max_gen": gpus.pcie_gen,
        "pcie.width": 16,
        "pcie.max_width": 16,
        "pcie.tx": 0,
        "pcie.rx": 0,
        "pcie.replays": 0,
        "socket": gpus.sockets[index] if index < len(gpus.sockets) else 0,
    }
    if gpus.nvlinks:
        version = {"Volta": 2, "Ampere": 3, "Hopper": 4}.get(gpus.arch, 5)
        rows |= {"nvlink.links": gpus.nvlinks, "nvlink.version": version, "nvlink.speed_mbps": gpus.link_mbps}
    return rows


def driver_files(gpus: Simulated) -> Iterator[tuple[str, str]]:
    """Yield the files of the simulated driver: path under /proc/driver and text."""
    yield (
        "nvidia/version",
        f"NVRM version: NVIDIA UNIX Open Kernel Module (simulated)  {gpus.driver}  no hardware\n",
    )
    for index in range(gpus.count):
        yield f"nvidia/gpus/{gpus.kernel_address(index)}/information", _information(gpus, index)


def _information(gpus: Simulated, index: int) -> str:
    return (
        f"Model: \t\t {gpus.name}\nIRQ:   \t\t 0\nGPU UUID: \t {gpus.uuid(index)}\n"
        f"Video BIOS: \t SIMULATED\nBus Type: \t PCIe\nBus Location: \t {gpus.kernel_address(index)}\n"
        f"Device Minor: \t {index}\nGPU Firmware: \t {gpus.driver}\nGPU Excluded:\t No\n"
    )
