"""Choose idle hosts for a bench, allocate them by one exclusive Slurm job, and cancel the job in any case."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from clusterwright.check.bench.script import EXCLUSIVE_HOSTS, JobResources, partition_of, script
from clusterwright.check.bench.stage import JobStage, cleanup_command
from clusterwright.config.cluster import Cluster
from clusterwright.config.names import expand, fold
from clusterwright.edge import slurm
from clusterwright.edge.bundler import FACTS, bench_program, bundle_script
from clusterwright.edge.clock import Clock
from clusterwright.edge.host import Host, as_user
from clusterwright.edge.slurm import checked
from clusterwright.edge.ssh import Remote
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.slurm import client
from clusterwright.slurm.jobs import Job, job_state_of
from clusterwright.slurm.nodes import parse_sinfo
from clusterwright.slurm.states import NodeState, is_pending

PROGRAMS = (
    "worker", "hello", "pair", "collectives", "sweep", "disks", "memory", "training", "trial", "loader", "gpu",
    "gpu_work", "rdma", "burn_in",
)  # fmt: skip
READER = "reader"  # the fact reader of `wright check`, for checks in the job
POLL_INTERVAL_S = 1.0
JOB_LIMIT_S = 4 * 3600


@dataclass(frozen=True, slots=True)
class HostRequest:
    """User, hosts and timeout of a bench job; with no hosts named, the hosts that are idle now."""

    user: str | None = None
    hosts: tuple[str, ...] = ()
    partition: str = ""
    reservation: str = ""
    wait_s: float = 600.0
    fewest: int = 1
    most: int | None = None  # then the other hosts are of no interest
    lasts_s: int = 0  # how long the bench itself runs, where the user sets it (burn-in)
    allocation: JobResources = EXCLUSIVE_HOSTS
    limit_s: int = JOB_LIMIT_S


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts of a partition: idle, busy with a job, or unavailable with Slurm's state."""

    free: tuple[str, ...]
    busy: tuple[str, ...]
    unavailable: Mapping[str, str]
    ending: tuple[str, ...] = ()  # busy hosts that are completing a job or not yet registered with slurmctld


def sort(text: str, requested_hosts: Iterable[str], *, is_exclusive: bool = True) -> Hosts:
    """Sort the nodes of sinfo's output into idle, busy and unavailable ones; only `requested_hosts`, if any are.

    Of the busy ones it also names those that will be idle soon. Unless `is_exclusive`, a host on which a job left CPUs
    free counts as idle, after those without jobs.
    """
    only = frozenset(requested_hosts)
    nodes = {name: node for name, node in parse_sinfo(text).items() if not only or name in only}
    coming = {name for name, node in nodes.items() if _is_coming(node.state)}
    unavailable = {
        name: node.record["State"]
        for name, node in nodes.items()
        if name not in coming and (node.state.is_power_saving or not node.state.is_available)
    }
    states = ("IDLE",) if is_exclusive else ("IDLE", "MIXED")
    free = tuple(name for state in states for name, node in nodes.items() if node.state.text == state)
    busy = tuple(name for name in nodes if name not in unavailable and name not in free)
    ending = tuple(name for name in busy if name in coming or nodes[name].state.activity == "completing")
    return Hosts(free, busy, unavailable, ending)


def _is_coming(state: NodeState) -> bool:
    """True for a node that soon will be idle: UNKNOWN, or idle and just not responding, as after slurmctld starts.

    One that never registers becomes DOWN.
    """
    return state.base == "UNKNOWN" or (
        state.base == "IDLE" and len(state.flags) == 1 and not state.is_responding
    )


def holders(jobs: Iterable[Job], hosts: Iterable[str]) -> str:
    """Return the jobs that are allocated on the hosts, or that there are none, as text for a message."""
    host_set = frozenset(hosts)
    blocking_jobs = [
        job for job in jobs if job.is_allocated and job.hosts and host_set & {*expand(job.hosts)}
    ]
    named = [
        _(
            "job {job} ({name}) of {user} on {hosts}",
            job=job.id,
            name=job.name,
            user=job.user,
            hosts=job.hosts,
        )
        for job in blocking_jobs
    ]
    return ", ".join(named) or _("no job that squeue lists")


def poll_hosts(cluster: Cluster, remote: Remote, request: HostRequest) -> Hosts:
    """Read the state of the partition's hosts from sinfo; only that of the requested hosts, if any are.

    Raises:
        WrightError: The control host or slurmctld does not answer.
    """
    name = cluster.control.name
    argv = client.node_states(partition=_partition(cluster, request))
    out = checked(Host(remote, name).run(client.line(argv)), name, argv[0]).out
    return sort(out, request.hosts, is_exclusive=request.allocation.is_exclusive)


def _partition(cluster: Cluster, request: HostRequest) -> str:
    return request.partition or partition_of(cluster, request.hosts)


def choose(cluster: Cluster, remote: Remote, request: HostRequest, clock: Clock) -> Hosts:
    """Wait until there are enough hosts to measure, and return them: the requested ones, else the idle ones.

    While too few are idle, or some soon will be, it polls Slurm up to `request.wait_s` seconds. It allocates nothing.

    Raises:
        WrightError: there are too few within that time; names the jobs on the others.
    """
    deadline = clock.monotonic() + request.wait_s
    while True:
        snapshot = poll_hosts(cluster, remote, request)
        chosen = (*snapshot.free, *snapshot.busy) if request.hosts else snapshot.free
        late = clock.monotonic() >= deadline
        if len(chosen) >= request.fewest and (late or not snapshot.ending):
            if request.most:
                return Hosts(chosen[: request.most], (), {})
            return Hosts(chosen, () if request.hosts else snapshot.busy, snapshot.unavailable)
        if late or not snapshot.busy:
            raise _too_few(snapshot, request, slurm.queue(remote, cluster.control.name))
        clock.sleep(POLL_INTERVAL_S)


@contextmanager
def reserve_hosts(
    cluster: Cluster,
    remote: Remote,
    hosts: Sequence[str],
    request: HostRequest,
    clock: Clock,
    log: Callable[[str], None],
) -> Iterator[JobStage]:
    """Submit a Slurm job on the hosts, wait until it runs, and yield its stage, through which benches run programs.

    After the `with` block cancel the job and delete its folder.

    Raises:
        WrightError: Slurm rejects the job, or it does not start within the timeout.
    """
    control, folder = cluster.control.name, _folder(cluster, clock)
    job = _submit(cluster, remote, hosts, request, folder)
    stage = JobStage(remote, control, request.user, folder, job, tuple(hosts), log)
    try:
        _started(stage, request, clock)
        yield stage
    finally:
        Host(remote, control).run_as(
            request.user, f"{client.line(client.cancel([job]))}; {cleanup_command(folder)}"
        )


def _folder(cluster: Cluster, clock: Clock) -> str:
    if cluster.shared_folder is None:
        raise WrightError.from_code(
            "folder-not-shared",
            _(
                "cluster `{cluster}` has no shared folder; benches coordinate their hosts through one",
                cluster=cluster.name,
            ),
            _("add one under `storage:`, e.g. shared: {kind: nfs, server: control, path: /shared}"),
        )
    return f"{cluster.shared_folder}/bench/{clock.now():.3f}"


def _submit(cluster: Cluster, remote: Remote, hosts: Sequence[str], request: HostRequest, folder: str) -> str:
    """Create the bench's folder with programs and job script and run sbatch, in one SSH command; return the job id.

    Raises:
        WrightError: Slurm rejects the job; the folder is removed.
    """
    text = script(
        cluster,
        hosts,
        folder,
        limit_s=min(
            request.limit_s + request.lasts_s,
            cluster.partitions[_partition(cluster, request)].max_time,
        ),
        partition=_partition(cluster, request),
        reservation=request.reservation,
        allocation=request.allocation,
    )
    programs = {name: bench_program(name) for name in PROGRAMS} | {READER: bundle_script(FACTS).decode()}
    files = {"job.sh": text, **{f"programs/{name}.py": program for name, program in programs.items()}}
    stdin = "".join(base64.b64encode(content.encode()).decode() + "\n" for content in files.values())
    fill = "".join(f'IFS= read -r text && printf %s "$text" | base64 -d > {file} && ' for file in files)
    path, above = shlex.quote(folder), shlex.quote(folder.rpartition("/")[0])
    steps = (
        f"umask 022; mkdir -p {above} && umask 077 && mkdir {path} && cd {path} && "
        f"mkdir orders answers programs && {fill}"
        f"sbatch --parsable job.sh || {{ code=$?; cd / && rm -rf {path}; exit $code; }}"
    )
    # every user's bench folder lies in this folder and belongs to that user: sticky, as /tmp
    shared = f'[ "$(id -u)" != 0 ] || [ -d {above} ] || install -d -m 1777 {above}; '
    command = shared + as_user(steps, request.user)
    result = Host(remote, cluster.control.name).run(command, stdin=stdin.encode())
    return slurm.submitted(result, cluster.control.name, request.user)


def _started(stage: JobStage, request: HostRequest, clock: Clock) -> None:
    """Poll Slurm until the bench's job runs.

    Raises:
        WrightError: it does not start within `request.wait_s`, or it ended at once.
    """
    deadline, reason = clock.monotonic() + request.wait_s, ""
    while True:
        fields = slurm.show_job(stage.remote, stage.control, stage.job)
        state = job_state_of(fields)
        if state == "RUNNING":
            return
        if not is_pending(state) and state not in ("CONFIGURING", "UNKNOWN"):
            raise WrightError.from_code(
                "bench-job-ended",
                _(
                    "Slurm job {job} of the bench ended before it ran: {state}",
                    job=stage.job,
                    state=state.lower(),
                ),
                _("see the reason: scontrol show job {job}", job=stage.job),
            )
        if clock.monotonic() >= deadline:
            other_jobs = [j for j in slurm.queue(stage.remote, stage.control) if j.id != stage.job]
            raise _busy(fold(list(stage.names)), holders(other_jobs, stage.names), fields["Reason"], request)
        if fields["Reason"] != reason and (reason := fields["Reason"]):
            stage.log(_("job {job} is pending; Slurm's reason: {reason}", job=stage.job, reason=reason))
        clock.sleep(POLL_INTERVAL_S)


def _too_few(snapshot: Hosts, request: HostRequest, jobs: Iterable[Job]) -> WrightError:
    if snapshot.busy:
        return _busy(fold(list(snapshot.busy)), holders(jobs, snapshot.busy), "", request)
    unavailable = ", ".join(
        _("{name} is {state}", name=name, state=state) for name, state in snapshot.unavailable.items()
    ) or _("no other hosts")
    return WrightError.from_code(
        "bench-hosts-few",
        _(
            "this bench needs {fewest} hosts; {count} are available: {unavailable}",
            fewest=request.fewest,
            count=len(snapshot.free),
            unavailable=unavailable,
        ),
        _(
            "return hosts to service (scontrol update nodename=HOST state=resume), or name "
            "others with --hosts"
        ),
    )


def _busy(hosts: str, blocking_jobs: str, pending_reason: str, request: HostRequest) -> WrightError:
    reason = _("; Slurm's reason: {reason}", reason=pending_reason) if pending_reason else ""
    return WrightError.from_code(
        "bench-hosts-busy",
        _(
            "{hosts} were not free within {wait_s:.0f} s; allocated to {blocking_jobs}{reason}",
            hosts=hosts,
            wait_s=request.wait_s,
            blocking_jobs=blocking_jobs,
            reason=reason,
        ),
        _(
            "wait longer (--wait 2h), or name idle hosts (--hosts); if a {job_name} job has the hosts, "
            "it ends without your action",
            job_name=request.allocation.name,
        ),
    )
