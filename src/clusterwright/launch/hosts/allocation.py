"""Find the hosts and slots of a scheduler's allocation in the environment of its job."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from clusterwright.config.names import expand_valid
from clusterwright.launch.hosts.hostfile import MOST_HOSTS, SlotHost, merge, parse_hostfile

# Files of MPI's default hosts, as the launcher's container of Kubernetes' MPI operator has one.
_MPI_FILES = (
    "PRTE_MCA_prte_default_hostfile",
    "OMPI_MCA_orte_default_hostfile",
    "HYDRA_HOST_FILE",
    "I_MPI_HYDRA_HOST_FILE",
)
_MPI_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK")
_MPI_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")

_LIST_ITEM = re.compile(r"(?:[^,\[]|\[[^\]]*\])+")  # of a Slurm hostlist: `n[1-3,5]`
Environment = Mapping[str, str]
ReadText = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Allocation:
    """The hosts of an allocation, the scheduler that made it, and the variable that lists them."""

    scheduler: str
    variable: str
    hosts: tuple[SlotHost, ...]


def find_allocation(environment: Environment, read: ReadText) -> Allocation | None:
    """Return the allocation that the environment describes; None outside of one. `read` returns the text of a file.

    Raises:
        WrightError: a file that a scheduler wrote lists no hosts.
        OSError: it cannot be read.
    """
    for scheduler, variable, hosts_of in _FORMS:
        if value := environment.get(variable, "").strip():
            hosts = merge(host for host in hosts_of(value, environment, read) if host.is_valid)
            if hosts:
                return Allocation(scheduler, variable, hosts)
    return None


def mpi_task(environment: Environment) -> str | None:
    """Return the rank of this process as text such as `PMI_RANK=3` if mpirun or srun started several, else None."""
    size = next((environment[name] for name in _MPI_SIZES if environment.get(name)), "1")
    tasks = environment.get("SLURM_STEP_NUM_TASKS", "1") if "SLURM_PROCID" in environment else "1"
    if {size, tasks} <= {"0", "1"}:
        return None
    names = (*_MPI_RANKS, "SLURM_PROCID")
    return next((f"{name}={environment[name]}" for name in names if environment.get(name)), None)


def _lines(value: str, _environment: Environment, read: ReadText) -> tuple[SlotHost, ...]:
    """Return the hosts of the host file at path `value`, which has one host per line, once for each slot."""
    return parse_hostfile(read(value), value)


def _pe_hostfile(value: str, _environment: Environment, read: ReadText) -> Iterator[SlotHost]:
    """Return the hosts and slots of Grid Engine's file: host, slots, queue instance, processors."""
    for line in read(value).splitlines():
        name, *more = line.split() or [""]
        if name:
            yield SlotHost(name, int(more[0]) if more and more[0].isdecimal() else None)


def _pairs(value: str, _environment: Environment, _read: ReadText) -> Iterator[SlotHost]:
    """Return the hosts and slots of LSF's pairs: `hostA 4 hostB 8`."""
    fields = value.split()
    for name, slots in zip(fields[::2], fields[1::2], strict=False):
        yield SlotHost(name, int(slots) if slots.isdecimal() else None)


def _repeated_names(value: str, _environment: Environment, _read: ReadText) -> Iterator[SlotHost]:
    """Return the hosts of LSF's list, which has a host once for each slot."""
    return (SlotHost(name, 1) for name in value.split())


def _slurm(value: str, environment: Environment, _read: ReadText) -> Iterator[SlotHost]:
    """Parse Slurm's node list and its tasks of each node, in the order of the list: `n[1-3]` and `4(x2),3`."""
    counts: list[int] = []
    for part in environment.get("SLURM_TASKS_PER_NODE", "").split(","):
        count, _repeated, times = part.strip().removesuffix(")").partition("(x")
        if count.isdecimal():
            counts += [int(count)] * min(int(times) if times.isdecimal() else 1, MOST_HOSTS)
    parts = _LIST_ITEM.findall(value) if expand_valid(value) else []
    names = [name for part in parts for name in expand_valid(part)]
    for index, name in enumerate(names):
        yield SlotHost(name, counts[index] if len(counts) == len(names) else None)


# The first variable that is set decides: LSF's file before its lists, which are cut off in large allocations.
_FORMS: tuple[tuple[str, str, Callable[[str, Environment, ReadText], Iterable[SlotHost]]], ...] = (
    ("PBS", "PBS_NODEFILE", _lines),
    ("LSF", "LSB_DJOB_HOSTFILE", _lines),
    ("LSF", "LSB_MCPU_HOSTS", _pairs),
    ("LSF", "LSB_HOSTS", _repeated_names),
    ("Grid Engine", "PE_HOSTFILE", _pe_hostfile),
    ("Cobalt", "COBALT_NODEFILE", _lines),
    ("OAR", "OAR_NODEFILE", _lines),
    ("Slurm", "SLURM_JOB_NODELIST", _slurm),
    *(("MPI", name, _lines) for name in _MPI_FILES),
)
