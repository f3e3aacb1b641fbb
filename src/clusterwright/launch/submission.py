"""Submit a job to Slurm with one ssh: create the run's folder, write its files, and call sbatch."""

from __future__ import annotations

import base64
import posixpath
import secrets
import shlex
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from clusterwright.catalog.gpus import gpus
from clusterwright.catalog.prices import price
from clusterwright.catalog.records import Deal
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.edge import slurm
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.host import Host, as_user
from clusterwright.edge.processes import CommandResult
from clusterwright.edge.ssh import Remote
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.launch import access, arrays
from clusterwright.launch.command import workdir
from clusterwright.launch.lines.mpi import requested_mpi, require_mpi
from clusterwright.launch.lines.prepare import prepare
from clusterwright.launch.record import record
from clusterwright.launch.run import RunFolder, run_name, runs_folder
from clusterwright.launch.script import script
from clusterwright.launch.share import partition
from clusterwright.launch.snapshot import CodeSnapshot, snapshot
from clusterwright.launch.unmanaged.library import install_library
from clusterwright.launch.unmanaged.preflight import require_torch
from clusterwright.launch.warnings import warnings
from clusterwright.plan.machines import gpu_like
from clusterwright.provision.apply import remote_of
from clusterwright.slurm.client import line
from clusterwright.slurm.mpi_plugins import list_mpi_plugins

SUBMIT_LIMIT_S = 60
# A run's name ends in the time of its submission, to the second. If its folder cannot be created (exit code 73,
# EX_CANTCREAT), a random suffix is added: other users can create folders and links with the names of all later times.
EXIT_NAME_EXISTS, MAX_ATTEMPTS = 73, 5
# Printed before the job id, which stays the last line; empty output leads to a warning.
_SETTINGS = "timeout 5 scontrol show config 2>/dev/null; "
# Shell that extracts the job id from sbatch output such as `a warning\n123;cluster`.
_LAST = """printf '%s\\n' "$id" | tail -n 1 | cut -d ';' -f 1"""

EXIT_SCRIPT_MISSING = 66  # sysexits.h EX_NOINPUT
EXIT_OTHER_OWNER = 79  # the first number after those of sysexits.h and of `as_user`
# The script runs with the rights of whoever submits it, so the folder and the script must be that user's.
_SCRIPT_OWNERSHIP = (
    "me=$(id -un) && { for path in . job.sh; do "
    'owner=$(stat -c %U "$path") && [ "$owner" = "$me" ] '
    f'|| {{ echo "${{owner:-?}} $me"; exit {EXIT_OTHER_OWNER}; }}; '
    "done; } && [ ! -L job.sh ]"
)
# As onhost/supervisor/folder.py does for the run's processes.
_UMASK = 'mode=$(stat -c %a .) && umask "$(printf %o $((~0$mode & 0777 | 022)))"'


def submit(
    job: Job,
    cluster: Cluster,
    remote: Remote | None = None,
    *,
    user: str | None = None,
    clock: Clock | None = None,
    base_folder: Path = Path(),
) -> RunFolder:
    """Submit a job and return its run, or for an array that of the array.

    The owner is `user`, else the job's user, else the login user. A relative code folder starts at `base_folder`.

    Raises:
        WrightError: the cluster cannot run the job, the host does not answer, or Slurm rejects the job.
    """
    from clusterwright.launch.peak import peak

    prepared = prepare(job, cluster, base_folder)
    job, control = prepared.job, Host(remote or remote_of(cluster), cluster.control.name)
    if requested := requested_mpi(job.program or ()):
        listing = control.run(line(list_mpi_plugins()), timeout_s=SUBMIT_LIMIT_S)
        require_mpi(requested, f"{listing.out}\n{listing.err}", cluster.control.name)
    now, owner = (clock or SystemClock()).now(), user or job.user
    copy = snapshot(job.code, base_folder) if job.code else None
    runs, price, gpu = runs_folder(cluster), hourly(job, cluster), peak(job, cluster)
    if cluster.unmanaged:
        require_torch(control, job, cluster)
        install_library(control, runs)
    for attempt in range(MAX_ATTEMPTS):
        suffix = secrets.token_hex(4) if attempt else ""
        submission = _SubmissionBuilder(runs, owner, now, suffix, copy, cluster, price, gpu).build(job)
        result = control.run(
            _as_owner(runs, submission.steps, owner),
            stdin=submission.stdin + (copy.data if copy else b""),
            timeout_s=SUBMIT_LIMIT_S,
        )
        if result.code != EXIT_NAME_EXISTS:
            break
    _require_created(result, submission.script, runs, cluster.control.name)
    job_id = slurm.submitted(result, cluster.control.name, owner)
    run = f"{runs}/{submission.name}"
    # The warnings are for administrators: a user cannot follow their fixes.
    warned = () if cluster.unmanaged else warnings(result.out)
    return RunFolder(submission.name, job_id, run, (*prepared.notes, *warned), submission.runs)


def _require_created(result: CommandResult, script_path: str | None, runs: str, host: str) -> None:
    """Require that the run's folder was created: the script exists, and its dependencies are the user's own runs.

    Raises:
        WrightError: the script does not exist, or a run in `dependencies` belongs to another user.
    """
    if result.code == EXIT_SCRIPT_MISSING and script_path:
        values = {"path": script_path, "host": host}
        message = _("the script {path} does not exist on {host}", **values)
        raise script_missing(message, _("set the script's path on shared storage"))
    if result.code == EXIT_OTHER_OWNER:
        run, run_owner, submitter = result.out.split()[-3:]
        fix = _(
            "set the number of the other user's job: `dependencies: [JOB]`; `squeue --user={owner}` lists the jobs",
            owner=run_owner,
        )
        raise run_of_other_user(f"{runs}/{run}", run_owner, submitter, fix)


@dataclass(frozen=True, slots=True)
class _Submission:
    """A submission: the run's name, the shell commands on the control host, and their stdin."""

    name: str
    steps: str
    stdin: bytes
    script: str | None
    runs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _SubmissionBuilder:
    """Builds submissions; holds what all runs of one submission share."""

    runs: str
    user: str | None
    now: float
    suffix: str
    copy: CodeSnapshot | None
    cluster: Cluster
    price: dict[str, Any] | None
    gpu: dict[str, Any] | None

    def build(self, job: Job) -> _Submission:
        """Return the submission of a job, not yet sent to Slurm: of one run or, with an array or sweep, of an array."""
        return self.array(job) if job.array or job.sweep else self.build_run(job)

    def build_run(self, job: Job) -> _Submission:
        """Return the submission of a single run; stdin has its files as base64 lines, then the code archive."""
        name = self._name(job.name)
        script_path = find_script_path(job, self.cluster, f"{self.runs}/{name}", self.copy)
        files = self._files(job, name)
        stdin = "".join(base64.b64encode(text.encode()).decode() + "\n" for text in files.values())
        fill = "".join(f'IFS= read -r text && printf %s "$text" | base64 -d > {file} && ' for file in files)
        steps = f"mkdir events logs checkpoints && {fill}{self._unpack('code')}{_require_path(script_path)}"
        return _Submission(name, self._submitted(name, steps, job, "job.sh"), stdin.encode(), script_path)

    def array(self, job: Job) -> _Submission:
        """Return the submission of an array: its folder and those of its runs, which share one copy of the code."""
        name = self._name(f"{job.name}-array")
        runs_by_number = {
            number: (self._name(array_job.name), array_job) for number, array_job in arrays.expand(job)
        }
        files: dict[str, str] = {}
        for run, array_job in runs_by_number.values():
            script_path = find_script_path(array_job, self.cluster, f"{self.runs}/{run}", self.copy)
            files |= {f"{run}/{file}": text for file, text in self._files(array_job, run).items()}
        first_run = next(iter(runs_by_number.values()))[0]
        top = f"{self.runs}/{name}"
        files[f"{name}/array.sh"] = arrays.script(
            files[f"{first_run}/job.sh"], name, top, arrays.range_of(job)
        )
        links = {f"{run}/code": f"../{name}/code" for run, _ in runs_by_number.values()} if self.copy else {}
        folders = [
            f"{run}/{part}"
            for run, _ in runs_by_number.values()
            for part in ("events", "logs", "checkpoints")
        ]
        data = arrays.packed(files, links, folders)
        # The folders of the runs must not exist: the owner of one could exchange the script in it.
        run_lines = "".join(f"{number} {run}\n" for number, (run, _) in runs_by_number.items()).encode()
        create = (
            'made=; while read -r number run; do mkdir "../$run" '
            f"|| {{ cd .. && rm -r {shlex.quote(name)} && rmdir -- $made; exit {EXIT_NAME_EXISTS}; }}; "
            'made="$made $run"; restrict "../$run" || exit 1; done < runs'
        )
        steps = (
            f"head -c {len(run_lines)} > runs && ( {create} ) && head -c {len(data)} | tar -xz -C .. && "
            f"{self._unpack('code')}{_require_path(script_path)}"
        )
        # Name each task after its run, as for the jobs of single runs.
        named = 'scontrol update "jobid=${id}_$number" "jobname=$run" >/dev/null 2>&1 </dev/null'
        write_job_ids = (
            f'while read -r number run; do echo "${{id}}_$number" > '
            f"../$run/jobs; {named} || true; done < runs && "
        )
        names = tuple(run for run, _ in runs_by_number.values())
        return _Submission(
            name,
            self._submitted(name, steps, job, "array.sh", write_job_ids),
            run_lines + data,
            script_path,
            names,
        )

    def _name(self, job_name: str) -> str:
        return run_name(job_name, self.now, self.suffix)

    def _files(self, job: Job, name: str) -> dict[str, str]:
        run = f"{self.runs}/{name}"
        digest = self.copy.digest if self.copy else None
        return {
            "job.sh": script(job, self.cluster, run),
            "job.json": record(
                job, self.cluster, run, self.now, user=self.user, price=self.price, gpu=self.gpu, code=digest
            ),
        }

    def _unpack(self, folder: str) -> str:
        size = len(self.copy.data) if self.copy else 0
        return f"mkdir {folder} && head -c {size} | tar -xz -C {folder} && " if size else ""

    def _submitted(self, name: str, steps: str, job: Job, file: str, write_job_ids: str = "") -> str:
        """Return shell that creates the folder, fills it from stdin and submits; a rejected job leaves no folder."""
        run = shlex.quote(f"{self.runs}/{name}")
        ids, dependency_option = _dependencies(self.runs, job)
        run_folders = f"{run} $(cut -d ' ' -f 2 {run}/runs 2>/dev/null | sed 's|^|../|')"
        return (
            f"{_SETTINGS}{access.restrict_function(job)}umask 022; mkdir -p {shlex.quote(self.runs)} && "
            f"umask {access.umask(job):03o} && "
            f"{{ mkdir {run} || exit {EXIT_NAME_EXISTS}; }} && cd {run} && "
            f"restrict . && {steps}{ids}id=$(sbatch --parsable {dependency_option}{file}) && "
            f"id=$({_LAST}) && {write_job_ids}echo $id | tee jobs "
            f"|| {{ code=$?; rm -rf {run_folders if write_job_ids else run}; exit $code; }}"
        )


def _require_path(path: str | None) -> str:
    return f"{{ [ -e {shlex.quote(path)} ] || (exit {EXIT_SCRIPT_MISSING}); }} && " if path else ""


def _dependencies(runs: str, job: Job) -> tuple[str, str]:
    """Return shell that looks up the job ids of the runs in `dependencies`, and the options of sbatch for them.

    Only the user's own runs: another user chooses what `jobs` in their folders contains.
    """
    lookup, names = "", []
    for index, dependency in enumerate(job.dependencies):
        names.append(dependency if dependency.isdigit() else f"$after{index}")
        if not dependency.isdigit():
            run = shlex.quote(f"{runs}/{dependency}")
            lookup += (
                f'me=$(id -un) && owner=$(stat -c %U {run}) && {{ [ "$owner" = "$me" ] '
                f'|| {{ echo {shlex.quote(dependency)} "$owner" "$me"; (exit {EXIT_OTHER_OWNER}); }}; }} && '
                f"after{index}=$(tail -n 1 {run}/jobs) && "
            )
    listed = ":".join(names)
    return lookup, f'--dependency="afterok:{listed}" --kill-on-invalid-dep=yes ' if names else ""


def resume(
    name: str, cluster: Cluster, remote: Remote | None = None, *, user: str | None = None
) -> RunFolder:
    """Resubmit a run that ended and return it; it resumes from its newest checkpoint.

    The count of successor jobs starts anew.

    Raises:
        WrightError: the run does not exist or belongs to another user, the host does not answer, or Slurm rejects
            the job.
    """
    run = f"{runs_folder(cluster)}/{name}"
    command = _resubmit_command(run)
    result = Host(remote or remote_of(cluster), cluster.control.name).run_as(
        user, command, timeout_s=SUBMIT_LIMIT_S
    )
    if result.code == EXIT_OTHER_OWNER:
        owner, submitter = result.out.split()[-2:]
        fix = _(
            "the owner resumes this run; root can: `wright train --resume {name} --as {owner}`",
            name=name,
            owner=owner,
        )
        raise run_of_other_user(run, owner, submitter, fix)
    warned = () if cluster.unmanaged else warnings(result.out)
    return RunFolder(name, slurm.submitted(result, cluster.control.name, user), run, warned)


def run_of_other_user(run: str, owner: str, submitter: str, fix: str) -> WrightError:
    """Return, without raising it, the error that a run belongs to another user (`owner`) than its job would."""
    message = _(
        "{run} belongs to {owner}, but the job would run as {submitter}",
        run=run,
        owner=owner,
        submitter=submitter,
    )
    return WrightError.from_code("run-of-other-user", message, fix, exit_code=EXIT_USAGE)


def _as_owner(runs: str, steps: str, user: str | None) -> str:
    # All users create runs in this folder, and each run belongs to its user: mode 1777, as for /tmp.
    shared = f'[ "$(id -u)" != 0 ] || [ -d {shlex.quote(runs)} ] || install -d -m 1777 {shlex.quote(runs)}; '
    return shared + as_user(steps, user)


def _resubmit_command(run: str) -> str:
    return (
        f"{_SETTINGS}cd {shlex.quote(run)} && {_SCRIPT_OWNERSHIP} && "
        f"{_UMASK} && rm -rf chain pulse stop cancelled ended.json standby.json && "
        f"id=$(sbatch --parsable job.sh) && {_LAST} | tee -a jobs"
    )


def hourly(job: Job, cluster: Cluster) -> dict[str, Any] | None:
    """Return the likely on-demand rental price of one GPU hour; None for a lab, or if the catalog has none.

    The cost of an owned GPU depends on data outside of the job: see `wright plan cost`.
    """
    groups = [cluster.nodes[name].gpus for name in cluster.partitions[partition(job, cluster)].nodes]
    kinds = {group.model: group for group in groups if group}
    if cluster.lab or len(kinds) != 1:
        return None
    try:
        gpu = gpu_like(next(iter(kinds.values())), gpus().values())
    except WrightError:  # the catalog does not have this GPU
        return None
    rate = price(gpu.name, Deal.ON_DEMAND)
    if rate is None:
        return None
    source = f"{rate.item}, on-demand rental, {rate.date}"
    return {"amount": rate.likely, "currency": rate.currency, "source": source}


def find_script_path(job: Job, cluster: Cluster, run: str, copy: CodeSnapshot | None) -> str | None:
    """Return the path of the script to check on the control host; None if in the code copy or not on shared storage.

    Raises:
        WrightError: a relative path is not in the code copy, or has no working directory.
    """
    name = _script(job)
    if name is None:
        return None
    working_folder = workdir(job, run)
    if not name.startswith("/"):
        inside = posixpath.normpath(name)
        if copy is not None and not job.environment.workdir:
            if inside not in copy.names:
                message = _("the script {path} is not in the copy of the code", path=name)
                raise script_missing(
                    message, _("use the script's path in the code folder; git may ignore the file")
                )
            return None
        if working_folder is None:
            message = _(
                "the relative path {path} would start at the run's own folder, {run}", path=name, run=run
            )
            fix = _(
                "add `code: {folder: .}`, which copies the script into the run, or set its path on shared storage"
            )
            raise script_missing(message, fix)
    path = posixpath.join(working_folder or run, name)
    shared = [folder.path for folder in cluster.storage.values()]
    return path if any(PurePosixPath(path).is_relative_to(top) for top in shared) else None


def script_missing(message: str, fix: str) -> WrightError:
    """Return, without raising it, the error `script-missing` with this message and fix."""
    return WrightError.from_code("script-missing", message, fix, exit_code=EXIT_USAGE)


def _script(job: Job) -> str | None:
    """Return the script for Python, or a program given by its path; None for anything else."""
    arguments = job.command or job.program or ("-",)
    first_argument = arguments[0]
    if job.command is None and "/" not in first_argument:
        return None
    return None if first_argument.startswith("-") else first_argument
