"""`wright dev [FILE]`, `wright dev list|stop`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from clusterwright.cli._show import say, show_json, show_text
from clusterwright.cli._there import cluster_file
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.units import QuantityError, format_duration, parse_duration, parse_size

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.config.job import Job
    from clusterwright.launch.dev import Asked, Kind, Reach, Wish


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
        from clusterwright.cli._show import say, show_text
        from clusterwright.cli._there import way_to
        from clusterwright.launch import dev

        cluster, wish = read(self, file)
        if self.dry_run:
            show_text(dev.script(wish, cluster))
            return 0
        key, public = _own_key(cluster.name) if wish.kind == "vscode" else (Path(), "")
        try:
            asked = dev.begin(
                wish,
                cluster,
                way_to(cluster),
                hear=told,
                public_key=public,
                new=self.new,
                wait_s=seconds("--wait", self.wait) if self.wait else None,
            )
        except dev.Left as left:
            say(left.what)
            return 130
        if asked is None:
            say("it waits in the queue; `wright dev` joins it, and `wright dev list` shows it")
            return 0
        return show(asked, cluster, wish, key=key, json=self.json, tunnel=self.tunnel)


COMMONLY = Common()


def _own_key(cluster: str) -> tuple[Path, str]:
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
    from clusterwright.cli._show import say, show_json, show_table
    from clusterwright.cli._there import find_cluster, way_to
    from clusterwright.launch.dev import listed

    cluster = find_cluster(file)
    rows = listed(cluster, way_to(cluster), user=user)
    columns = ("job", "kind", "user", "state", "elapsed", "limit", "host", "why")
    if json:
        show_json(rows)
    elif rows:
        show_table(columns, [tuple(row[each] for each in columns) for row in rows])
    else:
        say("no session is queued or up; next: wright dev --gpus 1")
    return 0


def end(job: str, file: Path | None, user: str | None) -> int:
    """It is over; who it was is said."""
    from clusterwright.cli._show import say
    from clusterwright.cli._there import find_cluster, way_to
    from clusterwright.launch.dev import stop

    cluster = find_cluster(file)
    for each in stop(job, cluster, way_to(cluster), user=user):
        say(f"stopped {each}")
    return 0


USUAL_TIME_S = 8 * 3600  # a working day; less where the partition gives less
_MOST_PORT = 65535  # 16 bits
_MANY = 65535  # Slurm counts CPUs of a host in 16 bits
_YEAR_S = 366 * 86400


def read(typed: Common, file: Path | None) -> tuple[Cluster, Wish]:
    """What is typed comes first, then the job file, then the cluster.

    Raises:
        WrightError: a file that cannot be read, or an option that says nothing that could be.
    """
    from clusterwright.config.load import load_cluster, load_job

    job = load_job(file) if file else None
    cluster = load_cluster(cluster_file(typed.cluster, file))
    if job and job.container:
        say(f"note: image `{job.container.image}` of job `{job.name}` is left out: sessions run without one")
    return cluster, _wish(typed, cluster, job)


def _wish(typed: Common, cluster: Cluster, job: Job | None) -> Wish:
    from clusterwright.config.job import Environment
    from clusterwright.launch.dev import Wish

    found = job.environment if job else Environment()
    partition = typed.partition or (job.partition if job else None) or ""
    return Wish(
        _kind(typed),
        _within("--gpus", typed.gpus, 0, _MANY),
        seconds("--time", typed.time) if typed.time else _usual_time(cluster, partition),
        _within("--idle", seconds("--idle", typed.idle), 1, _YEAR_S),
        _within("--cpus", typed.cpus, 1, _MANY) if typed.cpus is not None else None,
        _quantity("--memory", typed.memory, parse_size) if typed.memory else None,
        partition,
        typed.account or (job.team if job else None),
        typed.as_user or (job.user if job else None),
        typed.python or _environment(typed, cluster) or found.python or cluster.software.python,
        typed.folder,
        _within("--port", typed.port, 0, _MOST_PORT),
        found.modules,
        tuple(found.variables.items()),
    )


def _kind(typed: Common) -> Kind:
    if typed.jupyter + typed.vscode + typed.shell > 1:
        raise _refused("dev-kind", "one of --jupyter, --vscode and --shell can be had at a time", "name one")
    return "vscode" if typed.vscode else "shell" if typed.shell else "jupyter"


def _environment(typed: Common, cluster: Cluster) -> str:
    """The Python of the environment that is named; empty where none is."""
    if not typed.environment:
        return ""
    named = cluster.environments.python
    if typed.environment not in named:
        mend = f"--environment {next(iter(named))}" if named else "--python /path/to/bin/python"
        there = ", ".join(named) or "none"
        raise _refused(
            "dev-environment", f"there is no environment `{typed.environment}`; there are: {there}", mend
        )
    return f"{named[typed.environment].path}/bin/python"


def _usual_time(cluster: Cluster, partition: str) -> int:
    """For a partition that is not there it does not matter: it is refused."""
    found = cluster.partitions.get(partition) if partition else None
    queue = found or next((each for each in cluster.partitions.values() if each.default), None)
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
    except QuantityError as why:
        raise _refused("bad-quantity", f"{option}: {why.message}", why.mend) from why


def _within(option: str, number: int, least: int, most: int) -> int:
    if not least <= number <= most:
        raise _refused(
            "out-of-range", f"{option} cannot be {number}", f"a whole number from {least} to {most}"
        )
    return number


def _refused(code: str, message: str, mend: str) -> WrightError:
    return WrightError.of(code, message, mend, exit_code=EXIT_USAGE)


_NO_START = ("N/A", "")


def told(event: Mapping[str, Any]) -> None:
    """Progress, on stderr."""
    kind = event["event"]
    if kind == "submitted":
        say(f"job {event['job']} is submitted")
    elif kind == "joined":
        say(f"job {event['job']} is there already, and joined; --new begins another one")
    elif kind == "queue" and event["state"] == "PENDING":
        start = event["start"]
        when = "" if start in _NO_START else f"; Slurm expects it to start at {start}"
        say(f"job {event['job']} waits: {event['why']}{when}")
    elif kind == "queue" and event["state"] == "CONFIGURING":
        say(f"a host is started for job {event['job']}")
    elif kind == "queue":
        say(f"job {event['job']} runs on {event['host']}")


def show(asked: Asked, cluster: Cluster, wish: Wish, *, key: Path, json: bool, tunnel: bool) -> int:
    """What to copy on stdout; then, where it is wished, the tunnel or the shell itself."""
    from clusterwright.launch.dev import reach
    from clusterwright.onhost.dev import ports

    hosts = key.parent.parent / "known_hosts"
    way = reach(
        asked, cluster, local_port=ports.free(wish.port or asked.port), key=str(key), hosts=str(hosts)
    )
    if way.ssh_block:
        hosts.write_text(f"wright-dev-{asked.job} {asked.host_key}\n", encoding="utf-8")
        hosts.with_name("ssh_config").write_text(way.ssh_block, encoding="utf-8")
    if json:
        show_json({**asdict(asked), **asdict(way)})
    else:
        _talk(asked, way, wish, hosts.with_name("ssh_config"))
    return _go(way, json=json, tunnel=tunnel)


def _talk(asked: Asked, way: Reach, wish: Wish, config: Path) -> None:
    for note in asked.notes:
        say(f"note: {note}")
    if asked.joined and asked.gpus.count(",") + bool(asked.gpus) != wish.gpus:
        say(f"note: it has other GPUs than were asked for: {asked.gpus or 'none'}; --new begins another one")
    if way.tunnel:
        say("on your machine, and left open:")
        show_text(shlex.join(way.tunnel))
        say("then in a browser there (who has this address is you, so keep it to yourself):")
        show_text(way.url)
    if way.ssh_block:
        say(f"for ~/.ssh/config; or once: Include {config}")
        show_text(way.ssh_block)
        say(f"then: ssh wright-dev-{asked.job}, or `Remote-SSH: Connect to Host` in VS Code")
    if way.shell:
        show_text(shlex.join(way.shell))
    idle = format_duration(asked.idle_s)
    say(f"it ends when nobody has worked in it for {idle}; or: wright dev stop {asked.job}")


def _go(way: Reach, *, json: bool, tunnel: bool) -> int:
    """Ctrl-C ends the tunnel, and not the session."""
    from clusterwright.edge.terminal import hand_over

    if way.tunnel and tunnel:
        return hand_over(way.tunnel)
    if way.shell and not json and sys.stdin.isatty() and sys.stdout.isatty():
        return hand_over(way.shell)
    return 0
