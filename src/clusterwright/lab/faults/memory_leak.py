"""Memory leak on a host: a process grows by --per-minute up to --most; in the job that runs there, else in the host.

It joins the control groups of the newest job's step `extern`, as a process that its user starts over SSH, and ends
with the job. Hosts of a lab share the machine's memory, so without a job all of them have less. The kernel ends the
process before any other. Undo ends it, and so does a reboot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.lab import boot, cgroups
from clusterwright.lab.inside import inside, must
from clusterwright.lab.layout import LabHost
from clusterwright.lab.options import parse_bytes
from clusterwright.lab.state import LabState
from clusterwright.units import format_size

OPTIONS = ("per-minute", "most")
LASTS = True
UNIT = "memory-leak"
_MIB = 2**20
_PER_MINUTE, _LEAST_PER_MINUTE, _MOST_PER_MINUTE = 256 * _MIB, _MIB, 8192 * _MIB
_MOST, _LEAST_MOST, _MOST_MOST = 4096 * _MIB, 16 * _MIB, 65536 * _MIB
_TICK_S = 0.5
_EXTERN = re.compile(r"/job_([0-9]+)/step_extern")  # in Slurm's control groups, v1 and v2
# Bytes that are not zero, so that each page is in memory. argv: bytes per second, bytes, seconds between growths.
PROGRAM = """import sys, time
bytes_per_s, most, tick_s = float(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
leak, size, begin = [], 0, time.monotonic()
while True:
    growth = min(most, int(bytes_per_s * (time.monotonic() - begin))) - size
    leak.append(b"\\1" * growth)
    size += growth
    time.sleep(tick_s)
"""


def refuse(lab: LabState, host: LabHost, options: Mapping[str, str]) -> None:
    """Raise an error if an option is out of range, or the machine has too little memory."""
    _per_minute(options)
    most, available = _most(options), _available_bytes()
    if most > available // 2:
        raise WrightError.from_code(
            "lab-fault-option",
            _(
                "--most {most} is more than half of the {available} that this machine has left",
                most=format_size(most),
                available=format_size(available // _MIB * _MIB),
            ),
            _("set --most to a smaller size"),
        )


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Start a process on the host that leaks memory, as part of the newest job there, if there is one.

    Return the lab's state.
    """
    undo(lab, host, options)
    # exec: it returns once the program has replaced systemd's child, whose command line is another
    settings = ("--quiet", "--collect", "--service-type=exec", "--property=OOMScoreAdjust=1000")
    run = ("systemd-run", f"--unit={UNIT}", *settings)
    argv = ("python3", "-I", "-c", PROGRAM, str(_per_minute(options) / 60), str(_most(options)), str(_TICK_S))
    must(lab, host, *run, *argv)
    pids = cgroups.processes(lab.name, host.name)
    for pid in filter(_is_leak, pids):
        for group in _job_groups(pids):
            with suppress(ProcessLookupError):
                (group / "cgroup.procs").write_text(str(pid))
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """End the leaking process; harmless if it has ended with its job or its host; return the lab's state."""
    keeper = lab.processes.get(host.name)
    if keeper and boot.init_of(keeper) is not None:
        inside(lab, host, "systemctl", "stop", UNIT)
    return lab


def _job_groups(pids: set[int]) -> tuple[Path, ...]:
    """Return the control groups of the newest job's step `extern` among these processes; empty without a job."""
    groups: dict[int, set[Path]] = {}
    for pid in pids:
        for group in cgroups.groups_of(pid):
            if match := _EXTERN.search(str(group)):
                groups.setdefault(int(match[1]), set()).add(group)
    return tuple(groups[max(groups)]) if groups else ()


def _is_leak(pid: int) -> bool:
    try:
        return PROGRAM.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def _available_bytes() -> int:
    rows = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    return int(rows["MemAvailable"].split()[0]) * 1024


def _per_minute(options: Mapping[str, str]) -> int:
    return parse_bytes(options, "per-minute", _PER_MINUTE, _LEAST_PER_MINUTE, _MOST_PER_MINUTE)


def _most(options: Mapping[str, str]) -> int:
    return parse_bytes(options, "most", _MOST, _LEAST_MOST, _MOST_MOST)
