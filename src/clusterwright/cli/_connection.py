"""The cluster that a command works on, and the connection to the host that stores its runs."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.cli._show import cluster_option
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.edge.ssh import Connection
    from clusterwright.errors import WrightError

VARIABLE = "CLUSTERWRIGHT_CLUSTER"
LOCAL_CLUSTER = "here"  # in place of a cluster file: the cluster whose Slurm commands this machine has
_LOGIN = re.compile(
    r"ssh:/{1,2}(?:([^/@]+)@)?([^/@]+)/?"
)  # or the one of a login host; pathlib makes one slash of two
_HOST_NAME = re.compile(r"(?:[\w.-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*")
_MOST_FILES, _LONGEST_FILE = 20, 2**18  # of the current folder, among which a cluster file is searched; bytes
LOCAL_RUNS = Path("runs")  # where `wright train --local` writes, unless --out names another folder


def is_host_name(text: str) -> bool:
    """Return True if the text is HOST or USER@HOST, which ssh does not take for an option."""
    return _HOST_NAME.fullmatch(text) is not None and not text.startswith("-")


@dataclass(frozen=True, slots=True)
class RunLocation:
    """Where a run is stored: the folder of all runs, on the control host or (without a cluster) on this machine."""

    cluster: Cluster | None
    runs: str
    name: str  # or a job id, or `last`, in a cluster


def find_run(reference: str, cluster: Path | None, *, cancels: bool = False) -> RunLocation:
    """Return where a run is, by its folder, its name in ./runs, or any reference in the cluster.

    For a run of the cluster the reference is not looked up. `cancels`: as for `run_folders.find`.

    Raises:
        WrightError: it is no local run, and no cluster file is found.
    """
    if folder := local_run(reference, cluster, cancels=cancels):
        return RunLocation(None, str(folder.parent), folder.name)
    from clusterwright.launch.run import runs_folder

    config = cluster_of_run(reference, cluster)
    return RunLocation(config, runs_folder(config), reference)


def cluster_of_run(reference: str, cluster: Path | None) -> Cluster:
    """Return the cluster for a run that is not on this machine, from its file or learned from Slurm.

    Raises:
        WrightError: there is no cluster file; `no-run` if there are local runs.
    """
    from clusterwright.cli._file_kinds import require_file_kind
    from clusterwright.config.file_kinds import FOLDERS, LOG
    from clusterwright.launch.listing import no_run

    # A folder here may have the name of a run of the cluster, and a log has the number of its job in its name.
    require_file_kind(Path(reference), _("a run or a job"), LOG, *FOLDERS)
    if has_only_local_runs(cluster):
        raise no_run(reference, None, str(LOCAL_RUNS.absolute()))
    return find_cluster(cluster, reference)


def local_run(reference: str, cluster: Path | None, *, cancels: bool = False) -> Path | None:
    """Return the folder of a run on this machine; None if it is none.

    Job ids and `last` mean local runs only without a cluster file. A name alone means a run of the caller: in a
    folder that others may write, anybody can give a run that name.
    """
    from clusterwright.onhost.runs.run_folders import caller_uid, find, owner_of

    if "/" in reference and (Path(reference) / "job.json").exists():
        return Path(reference).absolute()
    for folder in (Path(reference), LOCAL_RUNS / reference):
        if owner_of(str(folder)) == caller_uid():
            return folder.absolute()
    if not has_only_local_runs(cluster):
        return None
    run = find(str(LOCAL_RUNS.absolute()), reference, cancels=cancels)
    return Path(run) if run else None


def has_only_local_runs(cluster: Path | None) -> bool:
    """Return True if there is neither a cluster file nor Slurm, but local runs in ./runs."""
    return LOCAL_RUNS.is_dir() and not cluster and not has_cluster_file() and not is_unmanaged(None)


def has_cluster_file() -> bool:
    """Return True if a command without --cluster finds a cluster file."""
    return any(path.exists() for path in _candidates(None))


def is_unmanaged(named: Path | None, job_file: Path | None = None) -> bool:
    """Return True if a command works on a cluster that is learned from Slurm.

    That is the one of `here` or `ssh://HOST` in --cluster or CLUSTERWRIGHT_CLUSTER. Without both it is that of this
    machine, if it has Slurm and no cluster.yaml is in the current folder or beside `job_file`.
    """
    name = str(named or os.environ.get(VARIABLE, ""))
    if name:
        return (name == LOCAL_CLUSTER and not Path(LOCAL_CLUSTER).exists()) or _LOGIN.fullmatch(
            name
        ) is not None
    if any(path.exists() for path in _candidates(job_file)):
        return False
    return _has_slurm()


@cache
def _has_slurm() -> bool:
    """Return True if this machine has Slurm; asked once in a command: an unanswered ping takes seconds."""
    from clusterwright.launch.unmanaged.gather import has_slurm

    return has_slurm()


def find_cluster(named: Path | None, reference: str = "") -> Cluster:
    """Return the cluster that a command works on, from its cluster file or learned from Slurm.

    `reference`: the run, job or host that the command is about, and that is none on this machine.

    Raises:
        WrightError: no file is found; the message lists the paths that were tried.
    """
    if is_unmanaged(named):
        return unmanaged_cluster(named)
    from clusterwright.config.load import load_cluster

    return load_cluster(cluster_file(named, accepts_login=True, reference=reference))


def managed_cluster(named: Path | None) -> Cluster:
    """Return the cluster of a command that logs in to hosts, from its cluster file.

    Raises:
        WrightError: no file is found, or the cluster is one that Clusterwright did not build.
    """
    from clusterwright.config.load import load_cluster

    return load_cluster(cluster_file(named))


def _unmanaged() -> WrightError:
    from clusterwright.errors import EXIT_USAGE, WrightError

    return WrightError.from_code(
        "unmanaged-cluster",
        _("the command needs a cluster file, and Clusterwright did not build this cluster"),
        _("see what works on any Slurm cluster: wright explain unmanaged-cluster"),
        exit_code=EXIT_USAGE,
    )


def unmanaged_cluster(named: Path | None) -> Cluster:
    """Return the cluster that Slurm describes, on this machine or on the login host `ssh://HOST`.

    Raises:
        WrightError: the host does not answer, has no Slurm, or no folder that nodes can read.
    """
    from clusterwright.config.cluster import Unmanaged
    from clusterwright.launch.unmanaged.gather import learned_cluster

    login = _LOGIN.fullmatch(str(named or os.environ.get(VARIABLE, "")))
    return learned_cluster(Unmanaged(user=login[1], login=login[2]) if login else Unmanaged())


def cluster_file(
    named: Path | None,
    job_file: Path | None = None,
    *,
    accepts_login: bool = False,
    reference: str = "",
    otherwise: str = "",
) -> Path:
    """Return the path of the cluster file: `--cluster`, the variable, ./cluster.yaml or beside the job file.

    `accepts_login`: the command also works with `ssh://HOST`, so that errors name it. `reference`: see
    `find_cluster`. `otherwise`: what works without a cluster file, for the fix.

    Raises:
        WrightError: no file is found; the message lists the paths that were tried. Or one is found that another user
            could have written. Or the command needs a file, and the cluster is one that Clusterwright did not build.
    """
    if is_unmanaged(named, job_file):
        raise _unmanaged()
    if named:
        _refuse_host_name(named)
        return named
    candidates = _candidates(job_file)
    cluster_path = next((path for path in candidates if path.exists()), None)
    if cluster_path is None:
        error = _no_cluster_file(candidates, accepts_login=accepts_login, otherwise=otherwise)
        raise _missing_file_error(reference, error) if reference else error
    if not os.environ.get(VARIABLE):
        from clusterwright.cli._found_file import require_trusted

        require_trusted(cluster_path)
    return cluster_path


def _missing_file_error(reference: str, error: WrightError) -> WrightError:
    """Return the error of a missing cluster file for a name that is no run on this machine either."""
    from clusterwright.errors import WrightError

    if Path(reference).is_dir():
        return WrightError.from_code(
            "no-run",
            _("{folder} is not the folder of a run: it has no job.json of yours", folder=reference),
            _(
                "name a folder in ./runs; for a folder of logs: wright why {folder}",
                folder=shlex.quote(reference),
            ),
            exit_code=error.exit_code,
        )
    finding = error.findings[0]
    folder = f"./{LOCAL_RUNS}"
    message = _(
        "`{name}` is no file here and no run in {folder}, and {error}",
        name=reference,
        folder=folder,
        error=finding.message,
    )
    fix = _(
        "run the command in the folder that has {folder}; for a job or host of a cluster, {fix}",
        folder=folder,
        fix=finding.fix,
    )
    return WrightError.from_code(finding.code, message, fix, exit_code=error.exit_code)


def _no_cluster_file(candidates: Sequence[Path], *, accepts_login: bool, otherwise: str) -> WrightError:
    from clusterwright.errors import EXIT_USAGE, WrightError

    if os.environ.get(VARIABLE):
        return WrightError.from_code(
            "no-cluster-file",
            _("${variable} names {path}, which does not exist", variable=VARIABLE, path=candidates[0]),
            _(
                "correct the variable, or remove it: unset {variable}; or name the file: {option}",
                variable=VARIABLE,
                option=cluster_option(_named_otherwise() or Path("cluster.yaml")),
            )
            + (f"; {otherwise}" if otherwise else ""),
            exit_code=EXIT_USAGE,
        )
    paths = ", ".join(map(str, candidates))
    option = cluster_option(_named_otherwise() or Path("cluster.yaml"))
    paths = _("{paths} (${variable} is not set)", paths=paths, variable=VARIABLE)
    if accepts_login:
        paths = _("{paths} and Slurm on this machine", paths=paths)
        fix = _(
            "pass {option}, or --cluster ssh://HOST with a login host of any Slurm cluster;"
            " or export {variable}=/path/to/cluster.yaml",
            option=option,
            variable=VARIABLE,
        )
    else:
        fix = _("pass {option}, or export {variable}=/path/to/cluster.yaml", option=option, variable=VARIABLE)
    fix += f"; {otherwise}" if otherwise else ""
    return WrightError.from_code(
        "no-cluster-file", _("no cluster file found; tried {paths}", paths=paths), fix, exit_code=EXIT_USAGE
    )


def _named_otherwise() -> Path | None:
    """Return the only cluster file of another name in the current folder, by its keys; None if there is not one."""
    from clusterwright.config.load import has_cluster_keys, source_of
    from clusterwright.errors import WrightError

    files = []
    for path in sorted(islice(Path().glob("*.y*ml"), _MOST_FILES)):
        with suppress(OSError, WrightError):
            is_short = path.is_file() and path.stat().st_size < _LONGEST_FILE
            if is_short and has_cluster_keys(source_of(path).values):
                files.append(path)
    return files[0] if len(files) == 1 else None


def _refuse_host_name(named: Path) -> None:
    """Raise WrightError if `--cluster` names a host without `ssh://`, or `ssh://` without a host."""
    from clusterwright.errors import EXIT_USAGE, WrightError

    if str(named) == "ssh:":
        message, host = _("--cluster ssh:// names no host"), "HOST"
    elif _HOST_NAME.fullmatch(str(named)) and named.suffix not in (".yaml", ".yml") and not named.exists():
        message, host = _("there is no cluster file `{name}`", name=named), str(named)
    else:
        return
    fix = _("pass a cluster file; or for a login host of a Slurm cluster: --cluster ssh://{host}", host=host)
    raise WrightError.from_code("no-cluster-file", message, fix, exit_code=EXIT_USAGE)


def _candidates(job_file: Path | None) -> list[Path]:
    if env_path := os.environ.get(VARIABLE):
        return [Path(env_path)]
    folders = (Path(), job_file.parent if job_file else Path())
    return list(dict.fromkeys(folder / "cluster.yaml" for folder in folders))


def connection_to(cluster: Cluster) -> Connection:
    """Return the connection to the hosts of a cluster: by SSH, through the lab's or the user's ssh_config.

    Without SSH if Slurm's commands run on this machine.
    """
    from clusterwright.provision.apply import remote_of

    return remote_of(cluster)
