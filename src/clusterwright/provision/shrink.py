"""Hosts leave a running cluster: emptied, taken out of the file and of Slurm, and left with their daemon off."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from clusterwright.config.names import expand, fold
from clusterwright.config.reader import read
from clusterwright.edge.bundler import PROVISION
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.files import write_whole
from clusterwright.edge.host import Host
from clusterwright.edge.processes import Done
from clusterwright.edge.secrets import state_folder
from clusterwright.edge.slurm import checked
from clusterwright.edge.ssh import Remote, fan_out
from clusterwright.errors import WrightError
from clusterwright.onhost.provision.agent import ANSWER
from clusterwright.provision.apply import apply
from clusterwright.provision.bundle import Order, bundle
from clusterwright.provision.change.fields import Said
from clusterwright.provision.change.hosts import without_hosts
from clusterwright.provision.drain import is_out
from clusterwright.provision.render.hosts_file import hosts_file
from clusterwright.provision.report import Report
from clusterwright.provision.resources import File, Given
from clusterwright.provision.work import stamp
from clusterwright.slurm import client
from clusterwright.slurm.drain_reasons import REMOVE_HOSTS
from clusterwright.slurm.nodes import parse_sinfo
from clusterwright.slurm.records import parse_records

POLL_S = 2  # squeue asked every other second costs slurmctld nothing

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Leave:
    """Which hosts leave which cluster, and how long their jobs may take."""

    path: Path
    before: Said
    hosts: tuple[str, ...]
    wait_s: float
    cancel: bool = False
    purge: bool = False

    @property
    def control(self) -> str:
        """Where Slurm is asked."""
        return self.before.cluster.control.name

    def ask(self, remote: Remote, argv: list[str]) -> Done:
        """A command of Slurm's, as root.

        Raises:
            WrightError: it did not end well.
        """
        done = Host(remote, self.control).run_root(client.line(argv))
        return checked(done, self.control, argv[0])


@dataclass(frozen=True, slots=True)
class Left:
    """What became of it: the hosts that stay, and of those that left the ones where something is still to do."""

    others: Report
    still_there: dict[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True when all that stay are as wanted; a host that is off cannot be told to stop, and need not."""
        return self.others.ok


def refuse_reserved(leave: Leave, remote: Remote) -> None:
    """Reservations that somebody made by hand count too.

    Raises:
        WrightError: hosts in a reservation, by name.
    """
    said = leave.ask(remote, client.show_reservations())
    for row in parse_records(said.out, "ReservationName"):
        both = set(leave.hosts).intersection(expand(row["Nodes"]) if row["Nodes"] else ())
        if both:
            raise WrightError.of(
                "host-needed",
                f"{fold(sorted(both))} is in reservation `{row['ReservationName']}` of Slurm's",
                f"scontrol delete ReservationName={row['ReservationName']}, or change its Nodes, first",
            )


def leave(asked: Leave, remote: Remote, say: Say, *, clock: Clock | None = None) -> Left:
    """Drained, waited for, out of the file, out of Slurm, slurmd off. Cut short, the same command goes on.

    Raises:
        WrightError: jobs still run there after the wait; the hosts stay drained.
    """
    present = tuple(
        host for host in asked.hosts if host in {one.name for one in asked.before.cluster.hosts()}
    )
    if present:
        remember(asked.before.cluster.name, asked.hosts)
        empty(asked, present, remote, say, clock or SystemClock())
        text = without_hosts(asked.before, present)
        after = Said.of(read(text, asked.before.source.file))
    still = stop(asked, remote, say)
    if present:
        write_whole(asked.path, text, mode=asked.path.stat().st_mode & 0o777)
        say(f"{asked.path}: written without {fold(present)}")
    cluster = after.cluster if present else asked.before.cluster
    others = apply(cluster, str(asked.path), remote)
    if others.ok:
        forget(cluster.name, asked.hosts)
    return Left(others, still)


def empty(asked: Leave, hosts: tuple[str, ...], remote: Remote, say: Say, clock: Clock) -> None:
    """No new job starts there, and those that run have ended.

    Raises:
        WrightError: they have not within the wait; with the jobs and what can be done.
    """
    nodes = parse_sinfo(asked.ask(remote, client.node_states()).out)
    free = [host for host in hosts if host in nodes and not is_out(nodes[host])]  # others keep their reason
    if free:
        asked.ask(remote, client.drain(",".join(free), REMOVE_HOSTS))
    say(f"{fold(hosts)}: drained, no new job starts there")
    if asked.cancel and (jobs := jobs_on(asked, hosts, remote)):
        say(f"cancelling {', '.join(jobs)}")
        asked.ask(remote, client.cancel(jobs))
    started, told = clock.monotonic(), tuple[str, ...]()
    while jobs := jobs_on(asked, hosts, remote):
        if clock.monotonic() - started >= asked.wait_s and not asked.cancel:
            raise _busy(hosts, jobs)
        if jobs != told:
            say(f"waiting for jobs {', '.join(jobs)}")
            told = jobs
        clock.sleep(POLL_S)


def jobs_on(leave: Leave, hosts: tuple[str, ...], remote: Remote) -> tuple[str, ...]:
    """Ids of the jobs that hold these hosts, those that are just ending too.

    Raises:
        WrightError: slurmctld does not answer.
    """
    done = leave.ask(remote, client.jobs_on(hosts))
    return tuple(sorted(set(done.out.split()), key=int))


def stop(asked: Leave, remote: Remote, say: Say) -> dict[str, str]:
    """Slurmd off on the hosts that leave, and with `purge` our files too; where that failed, and why."""
    command = "systemctl disable --now slurmd.service"
    done = fan_out(asked.hosts, lambda host: Host(remote, host).run_root(command, timeout_s=120))
    failed = {host: result.last_lines(2) for host, result in done.items() if not result.ok}
    if asked.purge:
        reached = [host for host in asked.hosts if host not in failed]
        failed |= {
            host: why
            for host, why in fan_out(reached, lambda host: _purge(asked, remote, host)).items()
            if why
        }
    for host, why in failed.items():
        say(
            f"note: {host}: slurmd was not stopped or purged there ({why}); should it come back, Slurm refuses it"
        )
    return failed


def _purge(asked: Leave, remote: Remote, host: str) -> str:
    """What we wrote there is removed but the names of hosts, what we started is stopped; why not, or nothing."""
    header = Given(asked.path.name).header()
    names = File(path="/etc/hosts", content=hosts_file(asked.before.cluster, header))
    order = bundle(Order("apply", asked.path.name, stamp(SystemClock())), [names])
    done = Host(remote, host).run_program(PROVISION, stdin=order, root=True, timeout_s=120)
    lines = [line for line in done.out.splitlines() if line.startswith(ANSWER)]
    return str(json.loads(lines[-1].removeprefix(ANSWER))["error"]) if lines else done.last_lines(2)


def remembered(cluster: str) -> tuple[str, ...]:
    """Hosts whose leave was begun and not ended."""
    journal = _journal(cluster)
    return tuple(json.loads(journal.read_text())) if journal.exists() else ()


def remember(cluster: str, hosts: tuple[str, ...]) -> None:
    """Before anything is changed, so that the same command can go on when the file no longer has them."""
    everyone = dict.fromkeys((*remembered(cluster), *hosts))
    write_whole(_journal(cluster), json.dumps([*everyone]))


def forget(cluster: str, hosts: tuple[str, ...]) -> None:
    """Nothing is left to do for these."""
    rest = [host for host in remembered(cluster) if host not in hosts]
    if rest:
        write_whole(_journal(cluster), json.dumps(rest))
    else:
        _journal(cluster).unlink(missing_ok=True)


def _journal(cluster: str) -> Path:
    return state_folder(cluster) / "leaving.json"


def _busy(hosts: tuple[str, ...], jobs: tuple[str, ...]) -> WrightError:
    names = fold(hosts)
    return WrightError.of(
        "hosts-busy",
        f"jobs {', '.join(jobs)} still run on {names}, which stay drained; the file is as it was",
        "run the same command again to go on waiting (--wait 12h), or with --cancel-jobs; "
        f"or take it back: scontrol update NodeName={names} State=RESUME",
    )
