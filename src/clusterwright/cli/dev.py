"""`wright dev [FILE]`, `wright dev list|stop`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from clusterwright.cli._connection import cluster_file, is_unmanaged, unmanaged_cluster
from clusterwright.cli._live_names import PARTITIONS
from clusterwright.cli._numbers import Count, CountOrZero
from clusterwright.cli._quantities import Duration, Size
from clusterwright.cli._show import show_json, show_message, show_note, show_verbatim
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.units import QuantityError, parse_duration, parse_size

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.config.job import Job
    from clusterwright.launch.dev import Kind, SessionOptions


def _flag(text: str) -> Parameter:
    return Parameter(negative="", help=text)


def _require_port(_type: object, port: int) -> None:
    _check_range("--port", port, 0, 65535)  # 16 bits


@Parameter(name="*")
@dataclass(frozen=True)
class Common:
    """The options as typed."""

    jupyter: Annotated[bool, _flag("JupyterLab (the default).")] = False
    vscode: Annotated[bool, _flag("An sshd in the job, for VS Code Remote-SSH and other SSH clients.")] = (
        False
    )
    shell: Annotated[bool, _flag("Start a shell in the job; in a terminal it opens at once.")] = False
    gpus: Annotated[CountOrZero, Parameter(help="GPUs of one host.")] = 1
    cpus: Annotated[Count | None, Parameter(help="CPUs; default: the share of the GPUs.")] = None
    memory: Annotated[Size, Parameter(help="Memory, such as 64GiB; default: the share of the GPUs.")] = ""
    time: Annotated[Duration, Parameter(help="Time limit; default: 8h, or the limit of the partition.")] = ""
    idle: Annotated[Duration, Parameter(help="End the session after this idle time.")] = "2h"
    wait: Annotated[
        Duration, Parameter(help="Return after this time and leave the job in the queue; 0s: at once.")
    ] = ""
    partition: Annotated[
        str, Parameter(help="Slurm partition; default: Slurm's default partition."), PARTITIONS
    ] = ""
    account: Annotated[str | None, Parameter(help="Slurm account (team) of the job.")] = None
    python: Annotated[str, Parameter(help="Python with JupyterLab; default: the cluster's.")] = ""
    environment: Annotated[
        str, Parameter(help="Name of a Python environment of the cluster file (environments.python).")
    ] = ""
    folder: Annotated[str, Parameter(help="Start folder of JupyterLab; default: the user's home.")] = ""
    port: Annotated[
        int,
        Parameter(
            help="Port on this machine and on the host, another one if it is in use; default: any free port.",
            validator=_require_port,
        ),
    ] = 0
    new: Annotated[bool, _flag("Start another session beside the running ones.")] = False
    dry_run: Annotated[bool, _flag("Print the sbatch script; submit nothing.")] = False
    tunnel: Annotated[bool, _flag("Open the tunnel as well, until Ctrl-C.")] = False
    as_user: Annotated[str | None, Parameter(name="--as", help="User of the job, when root submits it.")] = (
        None
    )
    cluster: Annotated[
        Path | None, Parameter(help="Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.")
    ] = None
    json: Annotated[bool, _flag("Print one JSON document, which includes the token.")] = False

    def run(self, file: Path | None) -> int:
        """Start or join an interactive session and show how to connect; return 0 also if its job is left in the queue.

        With `dry_run` only print the job's script. 130 after Ctrl-C.
        """
        from clusterwright.cli._connection import connection_to
        from clusterwright.cli._dev_output import show, show_event
        from clusterwright.launch import dev

        cluster, session_options = read(self, file)
        if self.dry_run:
            show_verbatim(dev.script(session_options, cluster))
            return 0
        key, public = _session_key(cluster.name) if session_options.kind == "vscode" else (Path(), "")
        try:
            session = dev.begin(
                session_options,
                cluster,
                connection_to(cluster),
                on_event=show_event,
                public_key=public,
                new=self.new,
                wait_s=seconds("--wait", self.wait) if self.wait else None,
            )
        except dev.WaitInterrupted as interruption:
            show_message(interruption.outcome)
            return 130
        if session is None:
            show_message(_("the job is pending; `wright dev` joins it, `wright dev list` shows it"))
            return 0
        return show(session, cluster, session_options, key=key, json=self.json, tunnel=self.tunnel)


DEFAULTS = Common()


def _session_key(cluster: str) -> tuple[Path, str]:
    """Return this machine's private key for sessions and its public key; both are created on first use."""
    from clusterwright.edge.secrets import state_folder
    from clusterwright.edge.user_keys import user_keys

    folder = state_folder(cluster) / "dev"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / "ssh" / "session", user_keys(folder, ["session"])["ssh/session.pub"].decode()


dev = App(
    name="dev",
    help="Start JupyterLab, VS Code or a shell with GPUs on a compute host.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)
As = Annotated[str | None, Parameter(name="--as")]


@dev.default
def begin(file: Path | None = None, /, *, common: Common = DEFAULTS) -> int:
    """Submit the session's job, wait for it, and print how to connect; join a session that is running already.

    Ctrl-C while the job is pending cancels it.

    Parameters
    ----------
    file
        Job file whose Python, modules, variables, partition, team and user are used; default: none.
    """
    return common.run(file)


@dev.command(name="list")
def list_(*, cluster: Path | None = None, as_user: As = None, json: bool = False) -> int:
    """List the queued and running sessions: your own, or those of all users if you log in as root.

    Parameters
    ----------
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    as_user
        User whose sessions are listed, for root.
    json
        Print one JSON document on stdout.
    """
    return show_list(cluster, as_user, json=json)


@dev.command
def stop(job: str, /, *, cluster: Path | None = None, as_user: As = None) -> int:
    """Stop a session and free its GPUs.

    Parameters
    ----------
    job
        Job id of the session, or `all` of your sessions.
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    as_user
        User whose session is stopped, for root.
    """
    return end(job, cluster, as_user)


def show_list(file: Path | None, user: str | None, *, json: bool) -> int:
    """Print a row, or JSON, for each interactive session of the user (default: the login user); return 0."""
    from clusterwright.cli._connection import connection_to, find_cluster
    from clusterwright.cli._show import show_next, show_records
    from clusterwright.launch.dev import listed

    cluster = find_cluster(file)
    rows = listed(cluster, connection_to(cluster), user=user)
    if json:
        show_json(rows)
    elif rows:
        show_records(("job", "kind", "user", "state", "elapsed", "limit", "host", "reason"), rows)
    else:
        show_message(_("no session is queued or running"))
        show_next("wright dev --gpus 1")
    return 0


def end(job: str, file: Path | None, user: str | None) -> int:
    """Stop the session of a job, or all of the user's, and print the job ids; return 0."""
    from clusterwright.cli._connection import connection_to, find_cluster
    from clusterwright.launch.dev import stop

    cluster = find_cluster(file)
    for job_id in stop(job, cluster, connection_to(cluster), user=user):
        show_message(_("session stopped: job {id} is canceled and its GPUs are free", id=job_id))
    return 0


USUAL_TIME_S = 8 * 3600  # a working day; at most the partition's limit
_MAX_COUNT = 65535  # Slurm counts the CPUs of a host in 16 bits
_YEAR_S = 366 * 86400


def read(typed: Common, file: Path | None) -> tuple[Cluster, SessionOptions]:
    """Return the cluster and the session's options: from the command line, else the job file, else the cluster file.

    Raises:
        WrightError: a file or an option is invalid.
    """
    from clusterwright.config.load import load_cluster, load_job

    job = load_job(file) if file else None
    cluster = (
        unmanaged_cluster(typed.cluster)
        if is_unmanaged(typed.cluster, file)
        else load_cluster(cluster_file(typed.cluster, file, accepts_login=True))
    )
    if job and job.container:
        image = job.container.image
        show_note(
            _(
                "image `{image}` of job `{job}` is ignored: sessions run without a container",
                image=image,
                job=job.name,
            )
        )
    return cluster, session_options(typed, cluster, job)


def session_options(typed: Common, cluster: Cluster, job: Job | None) -> SessionOptions:
    """Return the options of a session; raise WrightError for one that the cluster does not have."""
    from clusterwright.config.job import Environment
    from clusterwright.launch.dev import SessionOptions

    environment = job.environment if job else Environment()
    partition = typed.partition or (job.partition if job else None) or ""
    return SessionOptions(
        _kind(typed),
        _check_range("--gpus", typed.gpus, 0, _MAX_COUNT),
        seconds("--time", typed.time) if typed.time else _usual_time(cluster, partition),
        _check_range("--idle", seconds("--idle", typed.idle), 1, _YEAR_S),
        _check_range("--cpus", typed.cpus, 1, _MAX_COUNT) if typed.cpus is not None else None,
        _quantity("--memory", typed.memory, parse_size) if typed.memory else None,
        partition,
        typed.account or (job.team if job else None),
        typed.as_user or (job.user if job else None),
        typed.python or _environment(typed, cluster) or environment.python or cluster.software.python,
        typed.folder,
        typed.port,
        environment.modules,
        tuple(environment.variables.items()),
    )


def _kind(typed: Common) -> Kind:
    return "vscode" if typed.vscode else "shell" if typed.shell else "jupyter"


def _environment(typed: Common, cluster: Cluster) -> str:
    """Return the path of Python in the environment that the options name; empty if none is named.

    Raises:
        WrightError: the cluster file has no such environment.
    """
    if not typed.environment:
        return ""
    named = cluster.environments.python
    if typed.environment not in named:
        message = _("the cluster file has no Python environment `{name}`", name=typed.environment)
        fix = (
            _("pass one of {names}", names=", ".join(named))
            if named
            else _("pass --python /path/to/bin/python")
        )
        raise _refused("dev-environment", message, fix)
    return f"{named[typed.environment].path}/bin/python"


def _usual_time(cluster: Cluster, partition: str) -> int:
    """Return the default time limit of a session in seconds, at most that of its partition.

    A partition that does not exist is rejected later.
    """
    partition_config = cluster.partitions.get(partition) if partition else None
    queue = partition_config or next(
        (candidate for candidate in cluster.partitions.values() if candidate.default), None
    )
    return min(USUAL_TIME_S, queue.max_time) if queue else USUAL_TIME_S


def seconds(option: str, text: str) -> int:
    """Return the seconds of a duration such as `2h`, the value of `option`; `0s` is valid.

    Raises:
        WrightError: the text is not a duration.
    """
    return _quantity(option, text, parse_duration)


def _quantity(option: str, text: str, parse: Callable[[str], int]) -> int:
    try:
        return parse(text)
    except QuantityError as error:
        raise _refused("bad-quantity", f"{option}: {error.message}", error.fix) from error


def _check_range(option: str, number: int, least: int, most: int) -> int:
    if not least <= number <= most:
        raise _refused(
            "out-of-range",
            _("{option} cannot be {number}", option=option, number=number),
            _("pass a whole number from {min} to {max}", min=least, max=most),
        )
    return number


def _refused(code: str, message: str, fix: str) -> WrightError:
    return WrightError.from_code(code, message, fix, exit_code=EXIT_USAGE)
