"""Claims on CPUs: cores and hardware threads of a model of the catalog; threads are cores times threads per core."""

from __future__ import annotations

import re

from clusterwright.catalog import parts
from clusterwright.catalog.records import Cpu
from clusterwright.i18n import _
from clusterwright.plan.sizing.claims.claim import Checked, Verdict

_VENDOR = r"(?:EPYC|Xeon|Ryzen|霄龙|至强|Grace)"
_SOCKETS = re.compile(
    rf"(?P<count>\b\d|\btwo|\bdual|双路?|两[颗路个])[\s-]*(?:[x\u00d7*颗路]|socket)?\s*(?:AMD|Intel|NVIDIA)?\s*{_VENDOR}",
    re.IGNORECASE,
)
_CORES = re.compile(r"(\d{1,4})[\s-]*(?:physical\s*)?(?:cores?\b|C(?=\s*[/\d])|核)", re.IGNORECASE)
_THREADS = re.compile(r"(\d{1,4})[\s-]*(?:hardware\s*|logical\s*)?(?:threads?\b|T\b|线程)", re.IGNORECASE)


def find_cpu(line: str) -> Cpu | None:
    """Return the CPU of the catalog whose model a line names, such as `EPYC 7543` or `Xeon 8480+`.

    None for a line without a vendor's word or a known model.
    """
    if not re.search(_VENDOR, line, re.IGNORECASE):
        return None
    tokens = re.findall(r"[\w+]+", line)
    for cpu in parts.cpus().values():
        if cpu.name.split()[-1].lower() in {token.lower() for token in tokens}:
            return cpu
    return None


def judge(line: str, *, name: str, row: str, statement: str) -> Checked | None:
    """Judge a line that claims a number of threads of a CPU: the catalog's number, times the line's sockets, agrees.

    None for a line without a known CPU and a number of threads.
    """
    cpu, threads = find_cpu(line), _THREADS.search(line)
    if cpu is None or threads is None:
        return None
    claimed, cores = int(threads[1]), _CORES.search(line)
    sockets = _sockets(line, cpu, int(cores[1]) if cores else 0)
    computed = sockets * cpu.threads
    verdict = Verdict.AGREE if claimed == computed else Verdict.DISAGREE
    correction = "" if verdict is Verdict.AGREE else slurm_line(cpu, sockets)
    return Checked(
        name,
        row,
        statement,
        float(claimed),
        float(computed),
        _("threads"),
        _(
            "{cpu}: {cores} cores of {per_core} threads, {sockets} of them",
            cpu=cpu.name,
            cores=cpu.cores,
            per_core=cpu.threads_per_core,
            sockets=sockets,
        ),
        verdict,
        _(
            "The number of threads of this CPU is cores x {per_core}: {cpu} has {threads} threads with {cores} "
            "cores, and {both} in two sockets. Slurm drains a host if slurm.conf declares more CPUs for it than "
            "the host has.",
            per_core=cpu.threads_per_core,
            cpu=cpu.name,
            threads=cpu.threads,
            cores=cpu.cores,
            both=2 * cpu.threads,
        ),
        correction,
    )


def _sockets(line: str, cpu: Cpu, cores: int) -> int:
    """Return the number of sockets that a line names, else that its cores make; 1 if neither fits."""
    if match := _SOCKETS.search(line):
        return int(match["count"]) if match["count"].isdigit() else 2
    return cores // cpu.cores if cores and cores % cpu.cores == 0 else 1


def slurm_line(cpu: Cpu, sockets: int) -> str:
    """Return the CPUs of a host as slurm.conf has them."""
    layout = f"Sockets={sockets} CoresPerSocket={cpu.cores} ThreadsPerCore={cpu.threads_per_core}"
    return f"CPUs={sockets * cpu.threads} {layout}"
