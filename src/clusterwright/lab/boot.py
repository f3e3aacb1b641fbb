"""Boot a host, recognize its keeper process (parent of its systemd-nspawn) later, and wait until it responds to SSH."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

from clusterwright.edge.ssh import Ssh, fan_out
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.lab import cgroups, kernel_log, state
from clusterwright.lab.host import kernel_pipe, nspawn_argv
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState, Process

SSH_PORT = 22
BOOT_LIMIT_S = 120  # a boot takes 2 s here; at load 57 five hosts had not all responded after 60 s
BOOT_PER_HOST_S = 10  # of 32 hosts on two cores at load 90 all had booted, but not all responded, after 60 s

# The keeper process of a host, a shell that runs systemd-nspawn and restarts it. It and its children are in the host's
# control groups from the start, so nothing of a host is ever outside. systemd-nspawn --keep-unit ends with 133 when
# the host reboots. With cgroup v2 a group that has children holds no process: hence one for the keeper and one for the
# rest. It keeps the host's kernel log pipe open, because a writer blocks without a reader: systemd's generators.
KEEPER = r"""
exec 9<>"$1"
shift
groups=
until [ "$1" = -- ]; do groups="$groups $1"; echo $$ > "$1/keeper/cgroup.procs" || exit 1; shift; done
shift
while :; do
  sh -c 'for group in $0; do echo $$ > "$group/run/cgroup.procs" || exit 1; done; exec "$@"' "$groups" "$@" 9>&-
  [ $? -eq 133 ] || exit
done
"""


def start(lab: LabState, host: LabHost) -> LabState:
    """Boot a host of the lab; return the lab's state with the host's keeper process, also stored in the journal.

    The process outlives this one and gets no terminal signals. It does not wait until the host is up.
    """
    groups = cgroups.make(lab.name, host.name)
    pipe = kernel_pipe(lab, host)
    kernel_log.make(pipe)
    argv = ("sh", "-c", KEEPER, "keeper", str(pipe), *map(str, groups), "--", *nspawn_argv(lab, host))
    with (lab.host_folder(host.name) / "console.log").open("ab") as console:
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True, cwd="/"
        )
    process = Process(child.pid, started_ticks(child.pid) or 0)
    child.returncode = 0  # not waited for here; keeps Python from warning that a child still runs
    return state.write(lab.with_process(host.name, process))


def started_ticks(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot (/proc/PID/stat, field 22); None if it does not run."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = text.rpartition(")")[2].split()
    return None if state == "Z" else int(fields[18])


def is_running(process: Process | None) -> bool:
    """Return True if that process, not another one with its PID, is running."""
    return process is not None and started_ticks(process.pid) == process.started_ticks


def init_of(keeper: Process) -> int | None:
    """Return the PID, on this machine, of process 1 of a keeper's host; None if there is none, as between two boots."""
    nspawn = _child_of(keeper.pid) if is_running(keeper) else None
    return None if nspawn is None else _child_of(nspawn)


def _child_of(pid: int) -> int | None:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(children[-1]) if children else None


def wait_for_ssh(lab: LabState, names: list[str], *, limit_s: float = BOOT_LIMIT_S) -> None:
    """Wait until each host has run a command over SSH.

    Raises:
        WrightError: A host has not within the timeout; quotes the end of its console.
    """
    deadline = time.monotonic() + limit_s
    ssh = Ssh(config=lab.ssh_config)

    def answers(name: str) -> str:
        lab_host = lab.layout.host(name)
        while not listens(lab_host):
            if time.monotonic() > deadline or not is_running(lab.processes.get(name)):
                return _console(lab, name)
            time.sleep(0.05)
        result = ssh.run(name, "true", timeout_s=max(5.0, deadline - time.monotonic()))
        return "" if result.ok else result.last_lines()

    failed = {name: error for name, error in fan_out(names, answers).items() if error}
    if failed:
        name, error = next(iter(failed.items()))
        raise WrightError.from_code(
            "lab-host-silent",
            _(
                "{failed} did not respond to ssh within {limit_s:.0f} s; {name} reports:\n{error}",
                failed=", ".join(failed),
                limit_s=limit_s,
                name=name,
                error=error,
            ),
            _(
                "read its console, {host_folder}/console.log; then run `wright lab down` and repeat "
                "the command",
                host_folder=lab.host_folder(name),
            ),
        )


def listens(host: LabHost) -> bool:
    """Return True if the host's sshd sends its greeting within 0.5 s: cheaper than a failing ssh."""
    try:
        with socket.create_connection((host.address, SSH_PORT), timeout=0.5) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def _console(lab: LabState, name: str) -> str:
    path = lab.host_folder(name) / "console.log"
    return "\n".join(path.read_text(errors="replace").splitlines()[-10:]) if path.exists() else "nothing"
