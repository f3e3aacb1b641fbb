"""The catalog's GPUs, with further data by GPU: fp64 rates, copy rates, NVSwitch, open kernel modules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from clusterwright.catalog.gpu_names import GpuVariant, choose
from clusterwright.catalog.records import Gpu
from clusterwright.catalog.rows import number, rows
from clusterwright.catalog.user_catalog import UserCatalog, named
from clusterwright.errors import EXIT_USAGE, WrightError, did_you_mean
from clusterwright.i18n import _

_PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "fp8", "fp4")


def gpu(name: str, extra: UserCatalog | None = None) -> Gpu:
    """Return the GPU that a name means: `h100`, `a100-80g`, `NVIDIA A100-SXM4-80GB (400W)`; the user's catalog first.

    Raises:
        WrightError: `unknown-gpu`, with the nearest names and how to add one.
    """
    user_gpus = extra.gpus if extra else {}
    user_gpu = named(user_gpus, name)
    if user_gpu is not None:
        return user_gpu
    catalog_name = matching_name(name)
    if catalog_name is None:
        raise _unknown(name, [*user_gpus, *gpus()])
    return gpus()[catalog_name]


def matching_name(text: str) -> str | None:
    """Return the catalog's GPU that a text of another program names, such as Slurm's GRES type; None without one."""
    return choose(text, _kinds())


@cache
def gpus() -> Mapping[str, Gpu]:
    """Return all GPUs of the built-in catalog by name."""
    return {row["name"]: _read(row) for row in rows("gpus")}


@cache
def _kinds() -> tuple[GpuVariant, ...]:
    return tuple(
        GpuVariant(
            row["name"],
            tuple(frozenset(model.split()) for model in row["model"].split("|")),
            row["form"],
            tuple(
                float(size_gb) for size_gb in (row["memory_gb"], *row["memory_labels"].split("|")) if size_gb
            ),
        )
        for row in rows("gpus")
    )


def _read(row: dict[str, str]) -> Gpu:
    peak = {
        precision: number(row, f"{precision}_tflops", 1e12)
        for precision in _PRECISIONS
        if row[f"{precision}_tflops"]
    }
    best = {
        precision: number(row, f"best_{precision}_tflops", 1e12)
        for precision in ("bf16", "fp8")
        if row[f"best_{precision}_tflops"]
    }
    return Gpu(
        name=row["name"],
        peak=peak,
        memory_bytes=number(row, "memory_gb", 1e9),
        memory_bytes_per_s=number(row, "memory_gbyte_per_s", 1e9),
        link_bytes_per_s=number(row, "link_gbyte_per_s", 1e9),
        power_w=number(row, "power_w"),
        achieved=best or None,
        vendor=row["vendor"],
        arch=row["arch"],
        form=row["form"],
        pcie_gen=int(number(row, "pcie_gen")),
        source=row["source"],
        usable_bytes=number(row, "usable_gib", 2**30),
    )


def _unknown(name: str, names: list[str]) -> WrightError:
    slug = "-".join(name.lower().split())
    fix = _(
        "{suggestion}All GPUs: wright plan catalog gpus; your own hardware: docs/guides/own-hardware.md",
        suggestion=did_you_mean(slug, names, 0.4),
    )
    return WrightError.from_code(
        "unknown-gpu", _("`{name}` is not a known GPU", name=name), fix, exit_code=EXIT_USAGE
    )


@dataclass(frozen=True, slots=True)
class Fp64:
    """Peak double-precision FLOP/s of one GPU; `matrix` is 0 without double-precision matrix units."""

    vector: float
    matrix: float
    source: str


@cache
def fp64() -> Mapping[str, Fp64]:
    """Return fp64 rates by GPU name; a missing GPU was not looked up."""
    return {
        row["gpu"]: Fp64(
            number(row, "fp64_tflops", 1e12), number(row, "fp64_matrix_tflops", 1e12), row["source"]
        )
        for row in rows("fp64")
    }


# x16, one direction, by generation (PCI-SIG): less line encoding, packet headers included.
PCIE_BYTES_PER_S = {3: 15.75e9, 4: 31.5e9, 5: 63e9, 6: 121e9}


@dataclass(frozen=True, slots=True)
class CopyRates:
    """Lowest healthy bytes/s in one direction: host copies, NVLink copies to a peer, and GPUDirect from a port.

    `gdr_share` is relative to the port's line rate.
    """

    host_bytes_per_s: float
    peer_bytes_per_s: float
    gdr_share: float
    source: str


@cache
def copy_rates() -> Mapping[str, CopyRates]:
    """Return the lowest healthy rates of copies by GPU name: to the host, to a peer over NVLink, and by GPUDirect.

    A GPU without figures in the catalog is missing.
    """
    return {row["gpu"]: _read_copies(row) for row in rows("gpu_copies")}


def pcie_bytes_per_s(gpu: Gpu) -> float:
    """Return bytes/s of the GPU's sixteen PCIe lanes; 0 for an unknown generation."""
    return PCIE_BYTES_PER_S.get(gpu.pcie_gen, 0.0)


def _read_copies(row: dict[str, str]) -> CopyRates:
    gdr = number(row, "gdr_gbit_per_s") / number(row, "gdr_port_gbit_per_s")
    host, peer = number(row, "host_gbyte_per_s", 1e9), number(row, "peer_gbyte_per_s", 1e9)
    return CopyRates(host, peer, gdr, row["source"])


# NVIDIA: "Transitions fully towards open-source GPU kernel modules" (2024-07): not before Turing.
CLOSED_ONLY = frozenset({"Pascal", "Volta"})
# Same source: Grace Hopper and Blackwell run only the open ones.
OPEN_ONLY = frozenset({"Blackwell", "Blackwell Ultra"})
_BOARD = 8  # HGX A100, H100, B200: 8 GPUs behind switches; boards of 4 join them directly (fabric manager user guide)
_DGX_2 = 16  # V100: 8 are joined directly (DGX-1), 16 by switches


def architecture(model: str) -> str:
    """Return the architecture of an NVIDIA GPU, such as `Hopper`; empty for another vendor's or unknown GPU."""
    try:
        record = gpu(model)
    except WrightError:
        return ""
    return record.arch if record.vendor == "NVIDIA" else ""


def vendor(model: str) -> str:
    """Return the vendor of a GPU model; NVIDIA for an unknown one, as most are."""
    try:
        return gpu(model).vendor
    except WrightError:
        return "NVIDIA"


def has_nvswitch(model: str, count: int, *, nvlink: bool) -> bool:
    """True if a host's `count` NVLink GPUs are joined by NVSwitches, which need the fabric manager on the host.

    That is from 8 GPUs on, from 16 for Pascal and Volta; False for other vendors' GPUs.
    """
    arch = architecture(model)
    return bool(arch) and nvlink and count >= (_DGX_2 if arch in CLOSED_ONLY else _BOARD)


def takes_open_modules(model: str) -> bool:
    """True if NVIDIA's open kernel modules support the GPU: from Turing on, and one that the catalog lacks."""
    return architecture(model) not in CLOSED_ONLY
