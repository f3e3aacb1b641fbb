"""The options of `wright dev` as they were typed, and what is made of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


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
        from clusterwright.cli._dev_shown import show, told
        from clusterwright.cli._dev_wish import read, seconds
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
