"""The command line of `nvidia-smi`: the options that cluster tools use."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from clusterwright.lab.gpus.smi import full, joined, query, table
from clusterwright.lab.gpus.smi.fields import fields
from clusterwright.lab.gpus.smi.nvml import GPU_IS_LOST, Nvml, NvmlError, SimulatedGpu

DRIVER_FILES = Path("/proc/driver/nvidia/gpus")
EXIT_USAGE, EXIT_NOT_FOUND, EXIT_NO_LIBRARY = 2, 6, 12  # nvidia-smi(1), RETURN VALUE
EXIT_OTHER = 255  # "Other error", the same page
NOT_LOADED, MISMATCH = 9, 18
_FAILED = {
    NOT_LOADED: "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that"
    " the latest NVIDIA driver is installed and running.\n",
    MISMATCH: "Failed to initialize NVML: Driver/library version mismatch",
}


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(f"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n{message}")  # noqa: T201 (a program)
        sys.exit(EXIT_USAGE)


def _parser() -> ArgumentParser:
    parser = _Parser(prog="nvidia-smi", description=table.BANNER)
    parser.add_argument("-L", "--list-gpus", action="store_true")
    parser.add_argument("-q", "--query", action="store_true")
    parser.add_argument("-d", "--display", type=_sections, default=())
    parser.add_argument("-i", "--id", default="")
    parser.add_argument("-r", "--gpu-reset", action="store_true")
    parser.add_argument("--query-gpu", default="")
    parser.add_argument("--query-remapped-rows", default="")
    parser.add_argument("--query-retired-pages", default="")
    parser.add_argument("--query-compute-apps", default="")
    parser.add_argument("--format", default="")
    parser.add_argument("--help-query-gpu", action="store_true")
    parser.add_argument("--version", action="store_true")
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("topo").add_argument("-m", "--matrix", action="store_true", required=True)
    nvlink = commands.add_parser("nvlink")
    nvlink.add_argument("-s", "--status", action="store_true")
    nvlink.add_argument("-e", "--errorcounters", action="store_true")
    return parser


def _sections(text: str) -> tuple[str, ...]:
    names = tuple(name.strip().upper() for name in text.split(","))
    if strange := set(names) - set(full.DISPLAY):
        raise ArgumentTypeError(f"{min(strange)} is none of {', '.join(full.DISPLAY)}")
    return names


def main(arguments: Sequence[str]) -> int:
    """Print the output of nvidia-smi for these arguments, from the simulated GPUs; return its exit code.

    The codes are those of the real program, such as 15 for a lost GPU.
    """
    options = _parser().parse_args(arguments)
    if options.help_query_gpu:
        print("\n".join(sorted(fields())))  # noqa: T201 (a program)
        return 0
    try:
        nvml = Nvml()
        gpus, failures = _gpus(nvml, options.id)
        for line in _lines(nvml, gpus, options):
            print(line)  # noqa: T201 (a program)
    except OSError:
        print("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.")  # noqa: T201 (a program)
        return EXIT_NO_LIBRARY
    except InUseError as error:
        print(error)  # noqa: T201 (a program)
        return EXIT_OTHER
    except query.UsageError as error:
        print(error)  # noqa: T201 (a program)
        return EXIT_USAGE
    except NvmlError as error:
        print(_FAILED.get(error.code, f"Failed to initialize NVML: {error}"))  # noqa: T201 (a program)
        return error.code
    for failure in failures:
        print(failure)  # noqa: T201 (a program)
    return GPU_IS_LOST if failures else 0


def _lines(nvml: Nvml, gpus: list[SimulatedGpu], options: Namespace) -> Iterator[str]:
    rows = options.query_gpu or options.query_remapped_rows or options.query_retired_pages
    if rows or options.query_compute_apps:
        flags = frozenset(flag.strip() for flag in options.format.split(","))
        if "csv" not in flags:
            raise query.UsageError('"--format=" switch is missing or its value is not csv.')
        if rows:
            return query.gpu_rows(rows, gpus, flags)
        return query.process_rows(options.query_compute_apps, gpus, flags)
    if options.gpu_reset:
        return reset(gpus)
    if options.list_gpus:
        return (
            f"GPU {gpu.index}: {gpu.text('nvmlDeviceGetName')} (UUID: {gpu.text('nvmlDeviceGetUUID')})"
            for gpu in gpus
        )
    if options.version:
        return iter((f"NVIDIA-SMI version  : {nvml.text('nvmlSystemGetDriverVersion')} (simulated)",))
    if options.command == "topo":
        return joined.topology(gpus)
    if options.command == "nvlink":
        return joined.error_lines(gpus) if options.errorcounters else joined.link_lines(gpus)
    return full.full(nvml, gpus, options.display) if options.query else table.table(nvml, gpus)


def _gpus(nvml: Nvml, chosen: str) -> tuple[list[SimulatedGpu], list[str]]:
    """Return the chosen GPUs (by index, UUID or PCI address) that respond, and a message for each that does not.

    All GPUs if `chosen` is empty.

    Raises:
        NvmlError: no GPU is one of the chosen.
    """
    answering: list[SimulatedGpu] = []
    failures: list[str] = []
    for index in range(nvml.count()):
        try:
            gpu = nvml.gpu(index)
            if not chosen or _is_chosen(gpu, chosen):
                answering.append(gpu)
        except NvmlError as error:
            if chosen and not {str(index), _address(index)} & set(chosen.split(",")):
                continue
            failures.append(
                f"Unable to determine the device handle for GPU {_address(index)}: {error}."
                "  Reboot the system to recover this GPU"
            )
    if chosen and not answering and not failures:
        raise NvmlError(EXIT_NOT_FOUND, f"No devices were found for {chosen}")
    return answering, failures


def _is_chosen(gpu: SimulatedGpu, chosen: str) -> bool:
    names = {str(gpu.index), gpu.text("nvmlDeviceGetUUID").lower(), gpu.pci().lower(), gpu.pci()[4:].lower()}
    return any(item.strip().lower() in names for item in chosen.split(","))


def _address(index: int) -> str:
    """Return the PCI address of GPU `index` from the kernel, as a lost one does not report it; else the index."""
    addresses = sorted(path.name for path in DRIVER_FILES.glob("*"))
    return addresses[index] if index < len(addresses) else str(index)


_STATE = "/run/clusterwright-lab/gpus/state"


class InUseError(Exception):
    """The GPU cannot be reset, because a process uses it."""


def reset(gpus: Sequence[SimulatedGpu]) -> Iterator[str]:
    """Reset the GPUs to their state after a boot; the state file is rebuilt as at boot (lab/gpus/state.py).

    Raises:
        InUseError: A GPU is in use; has the real program's message.
    """
    used = [gpu.pci() for gpu in gpus if list(gpu.processes())]
    if used:
        rows = "".join(f"  GPU {address}: In use by another client\n" for address in used)
        raise InUseError(f"The following GPUs could not be reset:\n{rows}")
    folder = Path(os.environ.get("CLUSTERWRIGHT_LAB_GPUS", _STATE)).parent
    for gpu in gpus:
        for state_file in folder.glob(f"*-{gpu.index}.boot"):
            state_file.unlink()
        yield f"GPU {gpu.pci()} was successfully reset."
    parts = [folder / "made", *sorted(folder.glob("*.lasting")), *sorted(folder.glob("*.boot"))]
    scratch = folder / "new"
    scratch.write_text("".join(part.read_text() for part in parts))
    scratch.replace(folder / "state")
    if gpus:
        yield "All done."
