"""Experiment 8: processes, ports and shared memory left after a kill or Ctrl-C.

    python -m bench.resilience.leftovers [--out FILE] [--seeds 2] [--quick] [--systems 'ours|torchrun']

Two ranks with two data workers each. Checked 1 s after the kill, and 15 s after it if anything is left:
processes that the victim had started, ports on which they listened, shared memory that they had created; after
Ctrl-C also files in TMPDIR. `total` is the time until the last process has exited; after Ctrl-C ours saves first.
`trained_on` counts leftover ranks that completed further steps.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.resilience.launched import Launched, launched
from bench.resilience.lines import Lines, interleaved, load, options, say, versions
from bench.resilience.systems import EVERY, TRAININGS, Start, System, ours
from clusterwright.onhost.supervisor import local_scheduler, schedulers
from clusterwright.onhost.supervisor.host import forkserver

START_S, SOON_S, LATE_S = 60.0, 1.0, 15.0
STEPS = 5  # until all processes run
Processes = set[int]


def main() -> None:
    """Run every case of every system."""
    given = options(__doc__ or "", seeds=2, quick=1)
    lines = Lines("leftovers", given.out)
    wanted = given.systems.split("|") if given.systems else [system.label for system in SYSTEMS]
    for seed, (system, case) in interleaved(
        [(system, case) for system in SYSTEMS for case in CASES], given.seeds
    ):
        if system.label not in wanted or (case not in COMMON and not system.name.startswith("ours")):
            continue
        common = {"flags": system.flags, "case": case, "seed": seed}
        if system.missing:
            lines.write(system.name, **common, outcome="skipped", reason=system.missing)
            continue
        found = trial(system, case)
        lines.write(system.name, **common, **found, versions=versions(**system.versions()))
        say(
            f"{system.label}, {case}: {found['outcome']} {json.dumps(found.get('figures', {}))} {found.get('why', '')}"
        )


def _loading(system: System) -> System:
    """Return the same launcher with the training that has data workers."""

    def starts(folder: Path) -> list[Start]:
        ours_instead = str(TRAININGS / "loading.py")
        return [
            Start([ours_instead if word.startswith(str(TRAININGS)) else word for word in each.argv], each.env)
            for each in system.starts(folder)
        ]

    return System(system.name, system.flags, starts, system.rival)


SYSTEMS = (
    System("ours", "best", ours("exact.py", every="20 steps")),
    System("ours, plain script", "best", ours("loading.py")),
    *(_loading(each) for each in EVERY if each.label in ("torchrun, own store", "ft_launcher")),
)


def trial(system: System, case: str) -> dict[str, Any]:
    """Kill what the case names, and count what is left afterwards."""
    busy = load()
    with TemporaryDirectory() as scratch, launched(system, BENCH_WORKERS="2", TMPDIR=scratch) as training:
        if not training.until(lambda: training.newest_step() >= STEPS, START_S):
            return {"outcome": "lost", "reason": f"did not start: {training.last_words()}", "load": busy}
        doomed = CASES[case](training)
        ranks = {each["pid"] for each in training.of("step")} & doomed
        ports, shared = _ports(doomed), _shared(doomed)
        begun = time.time()
        gone = _gone(training, doomed, begun + SOON_S)
        soon = late = _after(training, doomed, ports, shared, begun + SOON_S)
        if any(count for what, count in soon.items() if what != "zombies"):
            gone = _gone(training, doomed, begun + LATE_S)
            late = _after(training, doomed, ports, shared, begun + LATE_S)
        going = [each for each in training.of("step", begun + SOON_S) if each["pid"] in ranks]
        figures = {
            "processes": len(doomed), "trained_on": len({each["pid"] for each in going}),
            **{f"{what}_1s": count for what, count in soon.items()},
            **{f"{what}_15s": count for what, count in late.items()},
        }  # fmt: skip
        if case == "Ctrl-C":
            figures["files"] = sum(
                "torchinductor" not in path.name for path in Path(scratch).iterdir()
            )  # its cache
    left = {
        what: count for what, count in soon.items() if count and what != "zombies"
    }  # zombies hold no resources
    seconds = {"total": gone - begun} if gone else {}
    found = {"outcome": "left" if left else "ok", "seconds": seconds, "figures": figures, "load": busy}
    return {**found, "reason": f"{left} after 1 s"} if left else found


def _gone(training: Launched, doomed: Processes, limit: float) -> float | None:
    """Wait until the processes have exited; return the time, None if one is left after the limit."""
    while any(_state(pid) not in ("", "Z") for pid in doomed):
        if time.time() > limit:
            return None
        training.tail(0.02)
    return time.time()


def _after(
    training: Launched, doomed: Processes, ports: set[str], shared: set[str], when: float
) -> dict[str, int]:
    """Wait until that time and count what is left: processes, zombies, ports and shared memory."""
    while time.time() < when:
        training.tail(0.02)
    alive = {pid for pid in doomed if _state(pid) not in ("", "Z")}
    listening = _listening()
    return {
        "alive": len(alive), "zombies": sum(_state(pid) == "Z" for pid in doomed - alive),
        "ports": sum(each in listening for each in ports),
        "shared": sum((Path("/dev/shm") / name).exists() for name in shared),
    }  # fmt: skip


def agent(training: Launched) -> Processes:
    """Kill the agent, and return the processes that should end."""
    return _kill(_found(training, PROCESSES["agent"]) or training.processes[0].pid)


def supervisor(training: Launched) -> Processes:
    """Kill the supervisor, and return the processes that should end."""
    return _kill(_found(training, PROCESSES["supervisor"]))


def stand_in(training: Launched) -> Processes:
    """Kill the program that stands in for srun, and return the processes that should end."""
    return _kill(_found(training, PROCESSES["stand-in"]))


def rank(training: Launched) -> Processes:
    """Kill one of two ranks; the other cannot continue without it."""
    pids = {each["rank"]: each["pid"] for each in training.of("step")}
    old = set(pids.values()).union(*map(_below, pids.values()))
    os.kill(pids[1], signal.SIGKILL)
    return old


def fork_server(training: Launched) -> Processes:
    """Kill the fork server, which has torch imported."""
    server = _found(training, PROCESSES["fork server"])
    _kill(server)
    return {server}


def interrupt(training: Launched) -> Processes:
    """Send SIGINT to the foreground process group, like a terminal."""
    everybody = set(training.alive())
    os.killpg(training.processes[0].pid, signal.SIGINT)
    return everybody


CASES: dict[str, Callable[[Launched], Processes]] = {
    "SIGKILL of the agent": agent, "SIGKILL of a rank": rank, "Ctrl-C": interrupt,
    "SIGKILL of the supervisor": supervisor, "SIGKILL of the stand-in": stand_in,
    "SIGKILL of the fork server": fork_server,
}  # fmt: skip
PROCESSES = {  # modules on the command lines of our processes
    "agent": schedulers.AGENT, "supervisor": local_scheduler.SUPERVISOR, "stand-in": local_scheduler.__name__,
    "fork server": forkserver.NAME,
}  # fmt: skip
COMMON = ("SIGKILL of the agent", "SIGKILL of a rank", "Ctrl-C")


def _kill(pid: int) -> Processes:
    if pid <= 0:  # kill(2): 0 is the caller's own process group
        raise ProcessLookupError("the process to kill is not part of the training")
    doomed = {pid} | _below(pid)
    os.kill(pid, signal.SIGKILL)
    return doomed


def _found(training: Launched, module: str) -> int:
    return next((pid for pid in sorted(training.alive()) if module in _command(pid)), 0)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def _below(pid: int) -> Processes:
    """Return all descendants of a process."""
    parents: dict[int, set[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (words := _stat(int(entry.name))):
            parents.setdefault(int(words[1]), set()).add(int(entry.name))
    found, ends = set(), [pid]
    while ends:
        below = parents.get(ends.pop(), set())
        found |= below
        ends += below
    return found


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _state(pid: int) -> str:
    """Return the state of a process (proc(5): R, S, D, Z ...); empty if it has exited."""
    return (_stat(pid) or [""])[0]


def _listening() -> set[str]:
    """Return inodes of all listening sockets on this machine (proc(5), net/tcp: state 0A)."""
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return {row[9] for row in rows if row[3] == "0A"}


def _ports(pids: Processes) -> set[str]:
    """Return inodes of the sockets on which these processes listen."""
    held = set()
    for pid in pids:
        for file in _files(pid):
            if file.startswith("socket:["):
                held.add(file[8:-1])
    return held & _listening()


def _shared(pids: Processes) -> set[str]:
    """Return names in /dev/shm that these processes have open, or that contain their pids."""
    held = {
        file[9:]
        for pid in pids
        for file in _files(pid)
        if file.startswith("/dev/shm/") and "deleted" not in file
    }
    names = {path.name for path in Path("/dev/shm").iterdir()}
    return held | {name for name in names if any(f"_{pid}_" in name for pid in pids)}


def _files(pid: int) -> list[str]:
    try:
        return [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return []


if __name__ == "__main__":
    main()
