"""Run a job on this machine: local processes in place of hosts; needs no root, no Slurm and no cluster file."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import clusterwright
from clusterwright import plugins
from clusterwright.config.job import Job
from clusterwright.edge import processes
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.other_users import other_users
from clusterwright.edge.own_folders import create_own_folder
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.launch import access
from clusterwright.launch.command import is_plain, launcher
from clusterwright.launch.command_line import quoted_command
from clusterwright.launch.lines.note import Note
from clusterwright.launch.lines.prepare import prepare
from clusterwright.launch.record import record
from clusterwright.launch.run import RunFolder, run_name
from clusterwright.launch.snapshot import CodeSnapshot, snapshot
from clusterwright.launch.typed_program import local_line
from clusterwright.launch.variables import job_variables
from clusterwright.onhost.lib.files import write_atomic
from clusterwright.onhost.lib.processes import NOT_HERE
from clusterwright.onhost.lib.run_module import FILE
from clusterwright.onhost.lib.run_outcome import RUNNING, decide
from clusterwright.onhost.lib.safe_reader import read_object, text_or_empty
from clusterwright.onhost.lib.trusted_paths import FOREIGN, PathStep
from clusterwright.onhost.runs import run_state
from clusterwright.onhost.supervisor.job_fields import JobFields

_LIBRARY = "library"  # folder in the run's folder with this package only, not what is installed beside it
EXIT_NO_TORCH = 10
HAS_TORCH = f"{NOT_HERE}; import importlib.util; sys.exit(0 if importlib.util.find_spec('torch') else {EXIT_NO_TORCH})"


def local(job: Job, folder: Path, *, clock: Clock | None = None, base_folder: Path = Path()) -> RunFolder:
    """Start and return a run on this machine in `folder/NAME`.

    Its job id is the process id of the program that stands in for Slurm.

    Raises:
        WrightError: the launcher needs Slurm or MPI, `folder` is a file, or the code cannot be copied.
    """
    require_folder(folder)
    prepared = prepare(job, None, base_folder)
    job = prepared.job
    require_supervised(job)
    python = rank_python(job)
    now = (clock or SystemClock()).now()
    copy = snapshot(job.code, base_folder) if job.code else None
    folder = create_runs_folder(folder)
    with access.umask_of(job):
        name = new_folder(folder, run_name(job.name, now))
        run = folder / name
        access.restrict(run, job)
        job_id = _start(job, run, now, copy, python)
    return RunFolder(name, str(job_id), str(run), (*prepared.notes, *shared_machine(other_users())))


def require_folder(folder: Path) -> None:
    """Raise WrightError if the folder of the runs is a file."""
    if folder.exists() and not folder.is_dir():
        raise WrightError.from_code(
            "file-exists",
            _("{file} is a file, but the runs need a folder", file=folder),
            _("name a folder with --out"),
            exit_code=EXIT_USAGE,
        )


def create_runs_folder(folder: Path) -> Path:
    """Create the folder of the runs, and return it without links.

    Raises:
        WrightError: another user could exchange a run in it, with the programs that the run starts.
    """
    return create_own_folder(folder, _foreign_runs, holds_folders=True)


def _foreign_runs(step: PathStep, risk: str) -> WrightError:
    """Return the error of a folder of runs in which another user could exchange a run."""
    if risk == FOREIGN:
        message = _(
            "{folder} belongs to another user, who could exchange the programs of a run", folder=step.path
        )
    else:
        message = _(
            "all users may write to {folder} and could exchange the programs of a run", folder=step.path
        )
    fix = _("store the runs in a folder of your own: --out FOLDER")
    return WrightError.from_code("runs-exchangeable", message, fix, exit_code=EXIT_USAGE)


def _start(job: Job, run: Path, now: float, copy: CodeSnapshot | None, python: str) -> int:
    """Write the run's files (code, job.json, job.sh), start job.sh on this machine, and return its process id."""
    from clusterwright.launch.peak import local_peak

    if copy:
        copy.unpack(run / "code", access.umask(job))
    (run / _LIBRARY).mkdir()
    (run / _LIBRARY / "clusterwright").symlink_to(Path(clusterwright.__file__).parent)
    digest = copy.digest if copy else None
    write_atomic(run / "job.json", record(job, None, str(run), now, user=None, gpu=local_peak(), code=digest))
    write_atomic(run / "job.sh", local_script(job, str(run), python), mode=0o777 & ~access.umask(job))
    return start_script(run)


def start_script(run: Path) -> int:
    """Start job.sh of a run as a process of this machine; return its process id, which is appended to the run's jobs.

    The run resumes from its newest checkpoint if it has one.
    """
    with (run / "job.out").open("ab") as out:
        job_id = processes.start([str(run / "job.sh")], out=out)
    append_job(run, job_id)
    return job_id


def append_job(run: Path, job_id: object) -> None:
    """Add a job id as a line to the file `jobs` of the run's folder, atomically."""
    write_atomic(run / "jobs", f"{text_or_empty(str(run / 'jobs'))}{job_id}\n")


def shared_machine(users: Sequence[str]) -> tuple[Note, ...]:
    """Return the note that these users can connect to the ranks of a local run: torch has no authentication.

    None without users.
    """
    if not users:
        return ()
    names = ", ".join(users[:3]) + (", ..." if len(users) > 3 else "")
    text = _(
        "other users of this machine ({names}) can connect to the rendezvous store and the ranks of a local run, which "
        "have no authentication; for a run without other users and without a network: {command}",
        names=names,
        command="unshare -rn sh -c 'ip link set lo up && exec wright train job.yaml --local'",
    )
    return (Note(text),)


def require_supervised(job: Job, option: str = "--local") -> None:
    """Raise WrightError if the job's launcher needs Slurm or MPI, or the job is several runs."""
    if job.array or job.sweep:
        raise WrightError.from_code(
            "launcher-cannot",
            _("{option} starts one run, and the job has an array or a sweep", option=option),
            _(
                "remove `array` and `sweep` and start each run by itself, or submit the job to Slurm without {option}",
                option=option,
            ),
            exit_code=EXIT_USAGE,
        )
    if is_plain(job):
        if line := quoted_command(job.program or ()):
            raise WrightError.from_code(
                "launcher-cannot",
                _("`{line}` is one quoted argument, which {option} does not run", line=line, option=option),
                _("remove the quotes: wright train {option} -- {line}", line=line, option=option),
                exit_code=EXIT_USAGE,
            )
        if line := local_line(job.program or ()):
            raise WrightError.from_code(
                "launcher-cannot",
                _("--local starts the ranks itself, without {launcher}", launcher=(job.program or ("",))[0]),
                _("leave it out: wright train --local -- {line}", line=line),
                exit_code=EXIT_USAGE,
            )
        if job.program:
            raise WrightError.from_code(
                "launcher-cannot",
                _("--local runs Python programs only, and `{program}` is none", program=job.program[0]),
                _("write its Python script: wright train --local -- python train.py; or remove --local"),
                exit_code=EXIT_USAGE,
            )
        raise WrightError.from_code(
            "launcher-cannot",
            _(
                "launcher `{launcher}` starts Slurm tasks, which {option} does not have",
                launcher=launcher(job),
                option=option,
            ),
            _("use `--launcher agent` for a Python program, or remove {option}", option=option),
            exit_code=EXIT_USAGE,
        )


def rank_python(job: Job | JobFields) -> str:
    """Return the Python that starts the ranks: the job file's, else the first of PATH's and this one with PyTorch.

    Raises:
        WrightError: none of them has PyTorch.
    """
    candidates = _pythons(job)
    env = {**os.environ, **job.environment.variables}
    for python in candidates:
        if processes.run([python, "-c", HAS_TORCH], env=env).code != EXIT_NO_TORCH:
            return python
    raise without_torch(candidates)


def dry_run_python(job: Job) -> str:
    """Return the Python that a dry run prints: the first candidate of `rank_python`, which is not started here."""
    return _pythons(job)[0]


def _pythons(job: Job | JobFields) -> tuple[str, ...]:
    named = job.environment.python
    paths = (named,) if named else (shutil.which("python3"), sys.executable)
    return tuple(dict.fromkeys(path for path in paths if path))


def without_torch(pythons: Sequence[str]) -> WrightError:
    """Return the error of Pythons for the ranks that have no PyTorch."""
    return WrightError.from_code(
        "no-torch",
        _("PyTorch, which the ranks need, is not installed for {pythons}", pythons=", ".join(pythons)),
        _(
            "run `{python} -m pip install torch`, or set `environment.python` to a Python with PyTorch",
            python=pythons[0],
        ),
        exit_code=EXIT_USAGE,
    )


def interrupt(run: RunFolder) -> None:
    """Cancel a run: the ranks save a checkpoint and exit. A signal makes the supervisor react at once."""
    (Path(run.folder) / "cancelled").touch()
    if (
        Path(run.folder) / "pulse"
    ).exists():  # before its first heartbeat, the signal would kill the supervisor
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(run.job_id), signal.SIGINT)


def is_alive(run: Path) -> bool:
    """Return True if the local scheduler of this run, whose process id is the job id, still exists.

    A run on several hosts is alive while its heartbeat is.
    """
    if read_object(str(run / "job.json")).get("hosts"):
        return decide(run_state.read_evidence(str(run))).state == RUNNING
    ids = text_or_empty(str(run / "jobs")).split()
    command = text_or_empty(f"/proc/{ids[-1]}/cmdline") if ids and ids[-1].isdecimal() else ""
    return str(run) in command.split("\0")


def new_folder(folder: Path, name: str) -> str:
    """Create the run's folder and return its name, with -2 and so on if a run of the same second has the name."""
    free, number = name, 1
    while True:
        try:
            (folder / free).mkdir()
        except FileExistsError:
            number += 1
            free = f"{name}-{number}"
        else:
            return free


def local_script(job: Job, run: str, python: str) -> str:
    """Return the bash script of a run on this machine; run again by hand, it resumes from the newest checkpoint."""
    library = os.pathsep.join([f"{run}/{_LIBRARY}", *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    lines = [
        "#!/bin/bash",
        f"# Made by clusterwright from job `{job.name}`; run it again to resume the run.",
    ]
    lines += [f"export PYTHONPATH={shlex.quote(library.strip(os.pathsep))}"]
    folders = [
        *dict.fromkeys(str(path.parent) for _plugin, path in plugins.launchers().values()),
        *filter(None, os.environ.get("CLUSTERWRIGHT_LAUNCHERS", "").split(os.pathsep)),
    ]
    launchers = {"CLUSTERWRIGHT_LAUNCHERS": os.pathsep.join(folders)} if folders else {}
    variables = {**launchers, **job.environment.variables, **job_variables(job)}
    lines += [f"export {name}={shlex.quote(text)}" for name, text in variables.items()]
    lines += [
        shlex.join(
            [
                "exec",
                python,
                f"{run}/{_LIBRARY}/{FILE}",
                "clusterwright.onhost.supervisor.local_scheduler",
                run,
            ]
        )
    ]
    return "\n".join(lines) + "\n"
