"""Start a run on the hosts of a hostfile: its folder in the shared folder, and a keeper on each host over SSH."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shlex
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from clusterwright.config.job import Job
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import LocalMachine, Remote, Ssh, fan_out
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.launch import access
from clusterwright.launch.ended_run import EndedRun
from clusterwright.launch.hosts.hostfile import SlotHost, slot_host
from clusterwright.launch.hosts.preflight import check_hosts
from clusterwright.launch.lines.note import Note
from clusterwright.launch.lines.prepare import prepare
from clusterwright.launch.local import (
    append_job,
    create_runs_folder,
    dry_run_python,
    new_folder,
    rank_python,
    require_folder,
    require_supervised,
)
from clusterwright.launch.peak import local_peak
from clusterwright.launch.record import networks, record
from clusterwright.launch.run import RunFolder, run_name
from clusterwright.launch.snapshot import CodeSnapshot, snapshot
from clusterwright.launch.unmanaged.library import install_library, library_folder
from clusterwright.launch.variables import job_variables
from clusterwright.onhost.lib.files import write_atomic
from clusterwright.onhost.lib.run_module import FILE
from clusterwright.onhost.lib.safe_reader import read_object, text_or_empty
from clusterwright.onhost.supervisor.host_keeper import LEASE, LEASE_S
from clusterwright.onhost.supervisor.job_fields import JobFields
from clusterwright.onhost.supervisor.ssh_hosts import LOG, SCRIPT, start_command

START_S = 40.0  # until the first heartbeat: imports over a network file system
POLL_S = 0.2
SSH_S = 30.0
RENEW_S = LEASE_S / 6
_LOGIN_VARIABLES = ("HOME", "USER", "LOGNAME", "PATH", "SHELL", "LANG", "XDG_RUNTIME_DIR")

# Of the shell that starts the run: what finds programs and libraries, and the settings of communication libraries.
_FORWARDED = re.compile(
    r"PATH|LD_LIBRARY_PATH|LANG|VIRTUAL_ENV|CONDA_PREFIX|CUDA_HOME|CLUSTERWRIGHT_LAUNCHERS|(NCCL|UCX|FI|GLOO|OMP)_\w+"
)


def start_on_hosts(
    job: Job,
    hosts: Sequence[SlotHost],
    folder: Path,
    *,
    clock: Clock | None = None,
    base_folder: Path = Path(),
    remotes: Mapping[str, Remote] | None = None,
) -> RunFolder:
    """Start and return a run in `folder/NAME`, which all hosts must see; hosts beyond its nodes stand by.

    Raises:
        WrightError: a host is unfit, the job needs a scheduler or more hosts, or no supervisor starts.
    """
    require_folder(folder)
    prepared = prepare(job, None, base_folder)
    job = prepared.job
    require_supervised(job, "--hostfile")
    require_capacity(job, hosts)
    python = rank_python(job)
    reach = remotes or {host.name: remote_to(host) for host in hosts}
    is_new = not folder.exists()
    folder = create_runs_folder(folder)
    try:
        checked = check_hosts(hosts, job, python, folder, reach)
    except WrightError:
        if is_new:
            with suppress(OSError):  # a run of another command may be in it by now
                folder.rmdir()
        raise
    now = (clock or SystemClock()).now()
    copy = snapshot(job.code, base_folder) if job.code else None
    install_library(Host(LocalMachine(), "localhost"), str(folder))
    with access.umask_of(job):
        name = new_folder(folder, run_name(job.name, now))
        run = folder / name
        access.restrict(run, job)
        _write(job, run, now, copy, hosts, str(checked.network), python)
    job_id = _start_keepers(run, hosts, reach)
    notes = (*prepared.notes, *checked.notes, *_standby_note(job, hosts))
    return RunFolder(name, job_id, str(run), notes)


def resume_on_hosts(
    run: EndedRun, hosts: Sequence[SlotHost], remotes: Mapping[str, Remote] | None = None
) -> RunFolder:
    """Start an ended run again on its hosts, from its newest checkpoint, and return it; job.json gets the hosts.

    `hosts`, if there are any, replace those that it had.

    Raises:
        WrightError: a host is unfit, the job needs more hosts, or no supervisor starts.
    """
    job = run.record.job
    hosts = hosts or [slot_host(target) for target in run.record.hosts]
    require_capacity(job, hosts)
    reach = remotes or {host.name: remote_to(host) for host in hosts}
    checked = check_hosts(hosts, job, rank_python(job), run.folder.parent, reach)
    install_library(Host(LocalMachine(), "localhost"), str(run.folder.parent))
    path = run.folder / "job.json"
    document = read_object(str(path))
    document["hosts"] = [host.target for host in hosts]
    document["launch"] |= networks(str(checked.network))
    write_atomic(path, json.dumps(document, indent=2))
    run.clear_ending()
    job_id = _start_keepers(run.folder, hosts, reach)
    return RunFolder(run.folder.name, job_id, str(run.folder), (*checked.notes, *_standby_note(job, hosts)))


def preview(job: Job, hosts: Sequence[SlotHost], folder: Path, base_folder: Path = Path()) -> str:
    """Return the script that a run of the job would have on each host; nothing is started and nothing is written.

    Raises:
        WrightError: the job needs a scheduler or more hosts.
    """
    job = prepare(job, None, base_folder).job
    require_supervised(job, "--hostfile")
    require_capacity(job, hosts)
    run = f"{folder}/{run_name(job.name, SystemClock().now())}"
    return hosts_script(job, run, library_folder(str(folder)), dry_run_python(job))


@contextlib.contextmanager
def hold_lease(run: Path) -> Iterator[None]:
    """Renew the lease file of a run by a thread during a `with` block.

    If this process is killed in it, the run's hosts cancel the run, as its lease is no longer renewed.
    """
    over = threading.Event()

    def renew() -> None:
        for count in itertools.count(1):
            with contextlib.suppress(OSError):
                write_atomic(run / LEASE, str(count), durable=False)
            if over.wait(RENEW_S):
                return

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def remote_to(host: SlotHost) -> Remote:
    """Return the connection to a host: SSH, or for this machine's own names and addresses a local one."""
    return LocalMachine() if is_local_address(host.name) else Ssh(user=host.user)


def is_local_address(name: str) -> bool:
    """Return whether a host name is this machine's: one of its addresses can be bound."""
    try:
        address = socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_DGRAM)[0][4]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((address[0], 0))
    except OSError:  # a name of ssh's configuration, or the address of another machine
        return False
    return True


def require_capacity(job: Job | JobFields, hosts: Sequence[SlotHost]) -> None:
    """Raise WrightError if the job needs more hosts or slots than the hostfile has, or a name means another host."""
    if job.nodes > len(hosts):
        raise WrightError.from_code(
            "hosts-few",
            _("the job needs {needed} hosts, the hostfile has {count}", needed=job.nodes, count=len(hosts)),
            _(
                "set --nodes {count}, all that the hostfile has, or add hosts to the hostfile",
                count=len(hosts),
            ),
            exit_code=EXIT_USAGE,
        )
    for host in hosts:
        if host.slots is not None and host.slots < job.gpus_per_node:
            raise WrightError.from_code(
                "hosts-few",
                _(
                    "{host} has {count} slots, the job needs {needed}",
                    host=host.name,
                    count=host.slots,
                    needed=job.gpus_per_node,
                ),
                _("set --gpus {count}, or correct the hostfile", count=host.slots),
                exit_code=EXIT_USAGE,
            )
        if len(hosts) > 1 and (host.name == "localhost" or host.name.startswith("127.")):
            raise WrightError.from_code(
                "hostfile-line",
                _("`{host}` means another machine on each host", host=host.name),
                _(
                    "name this machine by the name that the other hosts know: {name}",
                    name=socket.gethostname(),
                ),
                exit_code=EXIT_USAGE,
            )


def _write(
    job: Job,
    run: Path,
    now: float,
    copy: CodeSnapshot | None,
    hosts: Sequence[SlotHost],
    network: str,
    python: str,
) -> None:
    """Write the run's code, record (job.json), log folder and keeper script into the folder `run`."""
    if copy:
        copy.unpack(run / "code", access.umask(job))
    (run / "logs").mkdir()
    facts = {"user": None, "gpu": local_peak(), "code": copy.digest if copy else None}
    targets = [host.target for host in hosts]
    text = record(job, None, str(run), now, network=network, local=False, hosts=targets, **facts)
    write_atomic(run / "job.json", text)
    script = hosts_script(job, str(run), library_folder(str(run.parent)), python)
    write_atomic(run / SCRIPT, script, mode=0o777 & ~access.umask(job))


def _start_keepers(run: Path, hosts: Sequence[SlotHost], remotes: Mapping[str, Remote]) -> str:
    """Start the keepers of all hosts and return the job id of the first supervisor."""
    fan_out([host.name for host in hosts], lambda host: _start_keeper(remotes[host], str(run), host))
    return _first_job(run)


def _start_keeper(remote: Remote, run: str, host: str) -> None:
    """Start the keeper of a host; on this machine with the environment of a login, as over SSH.

    A host that fails after the preflight counts as lost: the supervisor starts it again.
    """
    line = start_command(run, host)
    if isinstance(remote, LocalMachine):
        variables = [f"{name}={os.environ[name]}" for name in _LOGIN_VARIABLES if name in os.environ]
        line = shlex.join(["env", "-i", *variables, "sh", "-c", line])
    Host(remote, host).run(line, timeout_s=SSH_S)


def _standby_note(job: Job | JobFields, hosts: Sequence[SlotHost]) -> tuple[Note, ...]:
    standby = [host.name for host in hosts[job.nodes :]]
    return (Note(_("standby: {hosts}", hosts=", ".join(standby))),) if standby else ()


def _first_job(run: Path) -> str:
    """Wait for the first supervisor's heartbeat, append its job id to the run's jobs, and return the id.

    Raises:
        WrightError: there is none in time; the run is canceled then.
    """
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and not (run / "ended.json").exists():
        if (run / "pulse").exists():
            job_id = text_or_empty(str(run / "chain" / "1")).strip()
            append_job(run, job_id)
            return job_id
        time.sleep(POLL_S)
    (run / "cancelled").touch()
    logs = [text_or_empty(str(path)) for path in (run / "logs" / LOG, run / "job.out", run / "ended.json")]
    lines = [line for text in logs for line in text.splitlines()][-3:]
    raise WrightError.from_code(
        "hosts-not-started",
        _("no supervisor of the run has started: {text}", text=" / ".join(lines))
        if lines
        else _("no supervisor of the run has started, and its logs are missing or empty"),
        _("read {folder}/logs and {folder}/job.out", folder=run),
    )


def hosts_script(job: Job, run: str, library: str, python: str) -> str:
    """Return the script by which the run's keeper starts on a host, which is its argument.

    `library` is the folder of ours in the shared folder, `python` the one of the ranks.
    """
    forwarded = {name: text for name, text in sorted(os.environ.items()) if _FORWARDED.fullmatch(name)}
    variables = {**forwarded, **job.environment.variables, **job_variables(job)}
    path = os.pathsep.join(filter(None, [library, job.environment.variables.get("PYTHONPATH", "")]))
    exports = [
        f"export {name}={shlex.quote(text)}" for name, text in {**variables, "PYTHONPATH": path}.items()
    ]
    command = shlex.join(
        ["exec", python, f"{library}/{FILE}", "clusterwright.onhost.supervisor.host_keeper", run]
    )
    comment = f"# Made by clusterwright from job `{job.name}`; starts the run's keeper of the host $1."
    return "\n".join(["#!/bin/sh", comment, *exports, f'{command} "$1"']) + "\n"
