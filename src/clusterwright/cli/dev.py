"""`wright dev [FILE]`, `wright dev list|stop`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from clusterwright.cli._connection import cluster_file
from clusterwright.cli._show import show_json, show_message, show_text
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.units import QuantityError, format_duration, parse_duration, parse_size

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.config.job import Job
    from clusterwright.launch.dev import Kind, Reach, Session, SessionOptions


def _flag(text: str) -> Parameter:
    return Parameter(negative="", help=text)


@Parameter(name="*")
@dataclass(frozen=True)
class Common:
    """The options as they were typed."""

    jupyter: Annotated[bool, _flag("JupyterLab; so it is when nothing else is said.")] = False
    vscode: Annotated[bool, _flag("An sshd in the job, for VS Code's Remote-SSH and any other ssh.")] = False
    shell: Annotated[bool, _flag("A shell in the job; at a terminal it is opened.")] = False
    gpus: Annotated[int, Parameter(help="GPUs, of one host.")] = 1
    cpus: Annotated[int | None, Parameter(help="CPUs; the share that goes with the GPUs if left out.")] = None
    memory: Annotated[str, Parameter(help="Memory, e.g. 64GiB; the share likewise.")] = ""
    time: Annotated[str, Parameter(help="Longest time; 8h, or what the partition gives.")] = ""
    idle: Annotated[str, Parameter(help="It ends when nobody has worked in it for so long.")] = "2h"
    wait: Annotated[
        str, Parameter(help="Come back after so long, and leave it in the queue; 0s: at once.")
    ] = ""
    partition: Annotated[str, Parameter(help="Slurm partition; the default one if left out.")] = ""
    account: Annotated[str | None, Parameter(help="Team whose share it counts against.")] = None
    python: Annotated[str, Parameter(help="A Python with JupyterLab; the cluster's if left out.")] = ""
    environment: Annotated[
        str, Parameter(help="A Python environment of the cluster file (environments.python), by its name.")
    ] = ""
    folder: Annotated[str, Parameter(help="Where JupyterLab begins; the user's home if left out.")] = ""
    port: Annotated[int, Parameter(help="Port on both ends; where it is taken, another one.")] = 0
    new: Annotated[bool, _flag("Another one beside those that are up.")] = False
    dry_run: Annotated[bool, _flag("Print the sbatch script, and do nothing.")] = False
    tunnel: Annotated[bool, _flag("Open the tunnel, too, until Ctrl-C.")] = False
    as_user: Annotated[str | None, Parameter(name="--as", help="Whose job it is, when root submits it.")] = (
        None
    )
    cluster: Annotated[
        Path | None, Parameter(help="The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.")
    ] = None
    json: Annotated[bool, _flag("One JSON document; the token is in it.")] = False

    def run(self, file: Path | None) -> int:
        """Begin or join, and show the way there; 0 also where it is left waiting."""
        from clusterwright.cli._connection import connection_to
        from clusterwright.cli._show import show_message, show_text
        from clusterwright.launch import dev

        cluster, session_options = read(self, file)
        if self.dry_run:
            show_text(dev.script(session_options, cluster))
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
            show_message(_("it waits in the queue; `wright dev` joins it, and `wright dev list` shows it"))
            return 0
        return show(session, cluster, session_options, key=key, json=self.json, tunnel=self.tunnel)


COMMONLY = Common()


def _session_key(cluster: str) -> tuple[Path, str]:
    """This machine's key for the sshd of sessions, made the first time; the private half never leaves it."""
    from clusterwright.edge.secrets import state_folder
    from clusterwright.edge.user_keys import user_keys

    folder = state_folder(cluster) / "dev"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / "ssh" / "session", user_keys(folder, ["session"])["ssh/session.pub"].decode()


dev = App(
    name="dev",
    help="Work on a compute host: JupyterLab, VS Code or a shell, as a job with GPUs of its own.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)
As = Annotated[str | None, Parameter(name="--as")]


@dev.default
def begin(file: Path | None = None, /, *, common: Common = COMMONLY) -> int:
    """Submit the job, wait for it, and print what to copy; where one is up, join it.

    Ctrl-C while it waits takes it out of the queue.

    Parameters
    ----------
    file
        A job file, whose Python, modules, variables, partition, team and user are taken; none is needed.
    """
    return common.run(file)


@dev.command(name="list")
def list_(*, cluster: Path | None = None, as_user: As = None, json: bool = False) -> int:
    """Show the sessions that are queued or up: yours, or everybody's if you log in as root.

    Parameters
    ----------
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    as_user
        Whose, when root asks.
    json
        One JSON document.
    """
    return show_list(cluster, as_user, json=json)


@dev.command
def stop(job: str, /, *, cluster: Path | None = None, as_user: As = None) -> int:
    """End a session; its GPUs are free at once.

    Parameters
    ----------
    job
        Its job id, or `all` of yours.
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    as_user
        Whose, when root asks.
    """
    return end(job, cluster, as_user)


def show_list(file: Path | None, user: str | None, *, json: bool) -> int:
    """One row for each."""
    from clusterwright.cli._connection import connection_to, find_cluster
    from clusterwright.cli._show import show_json, show_message, show_table
    from clusterwright.launch.dev import listed

    cluster = find_cluster(file)
    rows = listed(cluster, connection_to(cluster), user=user)
    columns = ("job", "kind", "user", "state", "elapsed", "limit", "host", "why")
    if json:
        show_json(rows)
    elif rows:
        show_table(columns, [tuple(row[column] for column in columns) for row in rows])
    else:
        show_message(_("no session is queued or up; next: wright dev --gpus 1"))
    return 0


def end(job: str, file: Path | None, user: str | None) -> int:
    """It is over; who it was is said."""
    from clusterwright.cli._connection import connection_to, find_cluster
    from clusterwright.cli._show import show_message
    from clusterwright.launch.dev import stop

    cluster = find_cluster(file)
    for job_id in stop(job, cluster, connection_to(cluster), user=user):
        show_message(_("stopped {job_id}", job_id=job_id))
    return 0


USUAL_TIME_S = 8 * 3600  # a working day; less where the partition gives less
_MOST_PORT = 65535  # 16 bits
_MAX_COUNT = 65535  # Slurm counts CPUs of a host in 16 bits
_YEAR_S = 366 * 86400


def read(typed: Common, file: Path | None) -> tuple[Cluster, SessionOptions]:
    """What is typed comes first, then the job file, then the cluster.

    Raises:
        WrightError: a file that cannot be read, or an option that says nothing that could be.
    """
    from clusterwright.config.load import load_cluster, load_job

    job = load_job(file) if file else None
    cluster = load_cluster(cluster_file(typed.cluster, file))
    if job and job.container:
        show_message(
            _(
                "note: image `{image}` of job `{job}` is left out: sessions run without one",
                image=job.container.image,
                job=job.name,
            )
        )
    return cluster, _session_options(typed, cluster, job)


def _session_options(typed: Common, cluster: Cluster, job: Job | None) -> SessionOptions:
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
        _check_range("--port", typed.port, 0, _MOST_PORT),
        environment.modules,
        tuple(environment.variables.items()),
    )


def _kind(typed: Common) -> Kind:
    if typed.jupyter + typed.vscode + typed.shell > 1:
        raise _refused(
            "dev-kind", _("one of --jupyter, --vscode and --shell can be had at a time"), _("name one")
        )
    return "vscode" if typed.vscode else "shell" if typed.shell else "jupyter"


def _environment(typed: Common, cluster: Cluster) -> str:
    """The Python of the environment that is named; empty where none is."""
    if not typed.environment:
        return ""
    named = cluster.environments.python
    if typed.environment not in named:
        fix = _("--environment {iter}", iter=next(iter(named))) if named else "--python /path/to/bin/python"
        available = ", ".join(named) or "none"
        raise _refused(
            "dev-environment",
            _(
                "there is no environment `{environment}`; there are: {available}",
                environment=typed.environment,
                available=available,
            ),
            fix,
        )
    return f"{named[typed.environment].path}/bin/python"


def _usual_time(cluster: Cluster, partition: str) -> int:
    """For a partition that is not there it does not matter: it is refused."""
    partition_config = cluster.partitions.get(partition) if partition else None
    queue = partition_config or next(
        (candidate for candidate in cluster.partitions.values() if candidate.default), None
    )
    return min(USUAL_TIME_S, queue.max_time) if queue else USUAL_TIME_S


def seconds(option: str, text: str) -> int:
    """Of `2h`; 0s is a time, too.

    Raises:
        WrightError: it is none.
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
            _("a whole number from {least} to {most}", least=least, most=most),
        )
    return number


def _refused(code: str, message: str, fix: str) -> WrightError:
    return WrightError.from_code(code, message, fix, exit_code=EXIT_USAGE)


_NO_START = ("N/A", "")


def show_event(event: Mapping[str, Any]) -> None:
    """Progress, on stderr."""
    kind = event["event"]
    if kind == "submitted":
        show_message(_("job {event} is submitted", event=event["job"]))
    elif kind == "joined":
        show_message(
            _("job {event} is there already, and joined; --new begins another one", event=event["job"])
        )
    elif kind == "queue" and event["state"] == "PENDING":
        start = event["start"]
        when = "" if start in _NO_START else f"; Slurm expects it to start at {start}"
        show_message(
            _("job {event} waits: {event2}{when}", event=event["job"], event2=event["why"], when=when)
        )
    elif kind == "queue" and event["state"] == "CONFIGURING":
        show_message(_("a host is started for job {event}", event=event["job"]))
    elif kind == "queue":
        show_message(_("job {event} runs on {event2}", event=event["job"], event2=event["host"]))


def show(
    session: Session,
    cluster: Cluster,
    session_options: SessionOptions,
    *,
    key: Path,
    json: bool,
    tunnel: bool,
) -> int:
    """What to copy on stdout; then, where it is wished, the tunnel or the shell itself."""
    from clusterwright.launch.dev import reach
    from clusterwright.onhost.dev import ports

    hosts = key.parent.parent / "known_hosts"
    connection = reach(
        session,
        cluster,
        local_port=ports.free(session_options.port or session.port),
        key=str(key),
        hosts=str(hosts),
    )
    if connection.ssh_block:
        hosts.write_text(f"wright-dev-{session.job} {session.host_key}\n", encoding="utf-8")
        hosts.with_name("ssh_config").write_text(connection.ssh_block, encoding="utf-8")
    if json:
        show_json({**asdict(session), **asdict(connection)})
    else:
        _talk(session, connection, session_options, hosts.with_name("ssh_config"))
    return _open_connection(connection, json=json, tunnel=tunnel)


def _talk(session: Session, connection: Reach, session_options: SessionOptions, config: Path) -> None:
    for note in session.notes:
        show_message(f"note: {note}")
    if session.joined and session.gpus.count(",") + bool(session.gpus) != session_options.gpus:
        show_message(
            _(
                "note: it has other GPUs than were asked for: {gpus}; --new begins another one",
                gpus=session.gpus or "none",
            )
        )
    if connection.tunnel:
        show_message(_("on your machine, and left open:"))
        show_text(shlex.join(connection.tunnel))
        show_message(_("then in a browser there (who has this address is you, so keep it to yourself):"))
        show_text(connection.url)
    if connection.ssh_block:
        show_message(_("for ~/.ssh/config; or once: Include {config}", config=config))
        show_text(connection.ssh_block)
        show_message(
            _("then: ssh wright-dev-{job}, or `Remote-SSH: Connect to Host` in VS Code", job=session.job)
        )
    if connection.shell:
        show_text(shlex.join(connection.shell))
    idle = format_duration(session.idle_s)
    show_message(
        _(
            "it ends when nobody has worked in it for {idle}; or: wright dev stop {job}",
            idle=idle,
            job=session.job,
        )
    )


def _open_connection(connection: Reach, *, json: bool, tunnel: bool) -> int:
    """Ctrl-C ends the tunnel, and not the session."""
    from clusterwright.edge.terminal import run_interactive

    if connection.tunnel and tunnel:
        return run_interactive(connection.tunnel)
    if connection.shell and not json and sys.stdin.isatty() and sys.stdout.isatty():
        return run_interactive(connection.shell)
    return 0
