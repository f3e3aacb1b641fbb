"""`--query-gpu` and `--query-compute-apps`: rows of comma-separated values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from clusterwright.lab.gpus.smi.fields import MIB, fields
from clusterwright.lab.gpus.smi.nvml import (
    FUNCTION_NOT_FOUND,
    GPU_IS_LOST,
    NOT_SUPPORTED,
    NvmlError,
    SimulatedGpu,
)

Value = Callable[[], object]


class UsageError(Exception):
    """A query that is not valid; the message is for the user."""


def value_of(gpu: SimulatedGpu, name: str) -> str:
    """Return the text of a GPU's field without its unit; a text in brackets, such as [N/A], if it has no value."""
    return _value_or_error(lambda: fields()[name].read(gpu))


def _value_or_error(read: Value) -> str:
    try:
        return str(read())
    except NvmlError as error:
        if error.code in (NOT_SUPPORTED, FUNCTION_NOT_FOUND):
            return "[N/A]"
        return f"[{'GPU is lost' if error.code == GPU_IS_LOST else 'Unknown Error'}]"


def gpu_rows(query: str, gpus: Iterable[SimulatedGpu], flags: frozenset[str]) -> Iterator[str]:
    """Yield a line of CSV with the queried fields for each GPU, after a header unless the flags have `noheader`.

    Raises:
        UsageError: There is no such field.
    """
    fields_by_name = fields()
    names = [name.strip() for name in query.split(",")]
    _refuse_strange(names, fields_by_name)
    units = [fields_by_name[name].unit for name in names]
    yield from _header(names, units, flags)
    for gpu in gpus:
        yield _line([value_of(gpu, name) for name in names], units, flags)


_PROCESS = {
    "timestamp": "", "gpu_name": "", "gpu_bus_id": "", "gpu_serial": "", "gpu_uuid": "", "pid": "",
    "process_name": "", "name": "", "used_gpu_memory": "MiB", "used_memory": "MiB",
}  # fmt: skip


def process_rows(query: str, gpus: Iterable[SimulatedGpu], flags: frozenset[str]) -> Iterator[str]:
    """Yield a line of CSV with the queried fields for each process that computes on a GPU, after a header."""
    names = [name.strip() for name in query.split(",")]
    _refuse_strange(names, _PROCESS)
    units = [_PROCESS[name] for name in names]
    yield from _header(names, units, flags)
    for gpu in gpus:
        for process in gpu.processes():
            process_values = {"pid": str(process.pid), "used_gpu_memory": str(process.used // MIB)}
            process_values |= {
                "used_memory": process_values["used_gpu_memory"],
                "process_name": _program(process.pid),
            }
            process_values["name"] = process_values["process_name"]
            yield _line([process_values.get(name) or value_of(gpu, name) for name in names], units, flags)


def _program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
    except OSError:
        return "[Not Found]"


def _refuse_strange(names: list[str], field_names: Iterable[str]) -> None:
    for name in names:
        if name not in field_names:
            raise UsageError(f'Field "{name}" is not a valid field to query.\n')


def _header(names: list[str], units: list[str], flags: frozenset[str]) -> Iterator[str]:
    if "noheader" not in flags:
        pairs = zip(names, units, strict=True)
        yield ", ".join(f"{name} [{unit}]" if unit else name for name, unit in pairs)


def _line(values: list[str], units: list[str], flags: frozenset[str]) -> str:
    if "nounits" in flags:
        return ", ".join(values)
    pairs = zip(values, units, strict=True)
    return ", ".join(f"{value} {unit}" if unit and value[0] != "[" else value for value, unit in pairs)
