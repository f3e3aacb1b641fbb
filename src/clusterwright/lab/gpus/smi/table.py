"""The default output of `nvidia-smi`: a table of GPUs and processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from clusterwright.lab.gpus.smi.fields import MIB
from clusterwright.lab.gpus.smi.nvml import Nvml, SimulatedGpu
from clusterwright.lab.gpus.smi.query import value_of

BANNER = "Simulated GPUs of a lab: there is no hardware behind these figures."
_WIDE = "-" * 89
_SPLIT = f"{'-' * 41}+{'-' * 24}+{'-' * 22}"


def table(nvml: Nvml, gpus: Sequence[SimulatedGpu]) -> Iterator[str]:
    """Yield the lines of nvidia-smi's default table; the first states that the GPUs are simulated."""
    yield BANNER
    yield time.strftime("%a %b %e %H:%M:%S %Y       ")
    driver = nvml.text("nvmlSystemGetDriverVersion")
    yield f"+{_WIDE}+"
    yield _row(f" NVIDIA-SMI {driver:<21} Driver Version: {driver:<14} CUDA Version: {nvml.cuda():<8} ")
    yield f"|{_SPLIT}+"
    yield from _HEAD
    yield f"|{'=' * 41}+{'=' * 24}+{'=' * 22}|"
    for gpu in gpus:
        yield from _gpu(partial(value_of, gpu))
        yield f"+{_SPLIT}+"
    yield ""
    yield from _processes(gpus)


_HEAD = (
    "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",
    "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",
    "|                                         |                        |               MIG M. |",
)


def _gpu(read: Callable[[str], str]) -> Iterator[str]:
    name = read("name")
    name = name if len(name) <= 24 else f"{name[:21]}..."
    on = "On" if read("persistence_mode") == "Enabled" else "Off"
    power = f"{_integer_part(read('power.draw'))}W / {_integer_part(read('power.limit')):>4}W"
    memory = f"{read('memory.used')}MiB / {read('memory.total'):>6}MiB"
    yield (
        f"| {read('index'):>3}  {name:<24} {on:>8}  |   {read('pci.bus_id'):<16} Off |"
        f" {read('ecc.errors.uncorrected.volatile.total').strip('[]'):>20} |"
    )
    yield (
        f"| N/A  {read('temperature.gpu'):>3}C    {read('pstate'):<4} {power:>21} |"
        f" {memory:>22} | {read('utilization.gpu') + '%':>7} {read('compute_mode'):>12} |"
    )
    yield f"|{'':41}|{'':24}| {read('mig.mode.current').strip('[]'):>20} |"


def _integer_part(watts: str) -> str:
    return watts.split(".", maxsplit=1)[0]


def _row(text: str) -> str:
    return f"|{text:<89}|"


def _processes(gpus: Sequence[SimulatedGpu]) -> Iterator[str]:
    yield f"+{_WIDE}+"
    yield _row(" Processes:")
    yield _row("  GPU   GI   CI              PID   Type   Process name                        GPU Memory ")
    yield _row("        ID   ID                                                               Usage      ")
    yield _row("=" * 89)
    lines = [
        _row(f"  {gpu.index:>3}   N/A  N/A {process.pid:>16}      C   {'':<34} {process.used // MIB:>9}MiB ")
        for gpu in gpus
        for process in gpu.processes()
    ]
    yield from lines or [_row("  No running processes found")]
    yield f"+{_WIDE}+"
