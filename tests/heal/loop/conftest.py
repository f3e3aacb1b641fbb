"""A cluster of programs that pretend: the shell that heal sends to hosts is really run, and what it does is kept."""

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.load import load_cluster
from clusterwright.edge.processes import CommandResult, run
from clusterwright.edge.ssh import SSH_FAILED
from clusterwright.heal.actions import Executor
from clusterwright.heal.actions.executor import RUN_FOLDER
from clusterwright.heal.journal import Journal
from clusterwright.heal.loop.action_runner import ActionRunner
from clusterwright.heal.loop.gather import Gatherer
from clusterwright.heal.loop.loop import Loop
from clusterwright.heal.loop.setup import moment
from clusterwright.heal.policy import policy_of
from clusterwright.heal.rule import rules
from clusterwright.onhost.provision.reboots import BOOT_ID

PROGRAMS = Path(__file__).with_name("programs")
EXAMPLE = Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml"
HEAL = """
heal:
  mode: act
  allow: [restart-service, drain, reset-gpu, reboot, replace, requeue, exclude]
  max_unavailable_percent: 100
  pause: 1s
  poll_interval: 1s
  spares: [gpu-node4]
"""


@dataclass(frozen=True)
class Shells:
    """A Remote: each host is a folder, and its commands run here with programs that know only that folder."""

    folder: Path
    sudo: bool = False

    def run(self, host, command, *, stdin=b"", timeout_s=60):
        """As on the host; one that is down is not reached."""
        own = self.folder / "nodes" / host
        if (own / "down").exists():
            return CommandResult(
                (host, command), SSH_FAILED, "", f"ssh: connect to host {host}: timed out", 0.0
            )
        text = command.replace(BOOT_ID, str(own / "boot")).replace(RUN_FOLDER, str(own / "run"))
        env = {"PATH": f"{PROGRAMS}:{os.environ['PATH']}", "FAKE": str(self.folder), "HOST": host}
        return run(("sh", "-c", text), stdin=stdin, timeout_s=timeout_s, env=env)


@dataclass
class Pretended:
    """The folder, the cluster file, and the way there."""

    folder: Path
    cluster: object
    remote: Shells

    def put(self, host, **files):
        """What is true of a host: state, reason, boot, and a fault for each check named `fault_CHECK`.

        The text of a fault is for a reader; ` || ` ends its codes, where it has some.
        """
        for name, text in files.items():
            (self.folder / "nodes" / host / name).write_text(text)

    def get(self, host, name):
        """One of them."""
        return (self.folder / "nodes" / host / name).read_text()

    def job(self, id_, host, requeue=1):
        """A job runs there."""
        words = f"JobState=RUNNING Requeue={requeue} Restarts=0 BatchFlag=1 NodeList={host} \n"
        (self.folder / "jobs" / id_).write_text(f"JobId={id_} JobName=j UserId=ann(1) {words}")

    def effects(self):
        """What was really done, in order."""
        path = self.folder / "effects"
        return path.read_text().splitlines() if path.exists() else []

    def check(self, hosts):
        """The checks: what fails where is a file; a host that is down answers no ssh."""
        found = []
        for host in hosts:
            own = self.folder / "nodes" / host
            if (own / "down").exists():
                found.append(Verdict(host, "ssh", Status.FAIL, "timed out"))
            for path in own.glob("fault_*"):
                codes, _, saw = path.read_text().strip().rpartition(" || ")
                found.append(Verdict(host, path.name[6:], Status.FAIL, saw, codes=tuple(codes.split())))
        return found

    def loop(
        self,
        *,
        remote=None,
        journal=None,
        why=lambda _job, _seconds: (),
        say=lambda _text: None,
        wall=lambda: 0.0,
        orphan_s=1.0,
        **policy,
    ):
        """All of heal but the checks."""
        remote = remote or self.remote
        journal = journal or Journal(self.folder / "intents.sqlite")
        may = replace(policy_of(self.cluster), **policy)
        deeds = ActionRunner(journal, Executor(self.cluster, remote), may, moment, wall, say, orphan_s)
        gatherer = Gatherer(self.cluster, remote, self.check, why)
        return Loop(journal, gatherer, deeds, may, rules(), 0.0, say)


@pytest.fixture
def pretended(tmp_path):
    """Four hosts and a control host at rest; `pretended(more of the cluster file)`."""

    def make(section=HEAL, name="world"):
        folder = tmp_path / name
        file = tmp_path / f"{name}.yaml"
        file.write_text(EXAMPLE.read_text() + section)
        cluster = load_cluster(file)
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "jobs").mkdir(parents=True)
        made = Pretended(folder, cluster, Shells(folder))
        for host in cluster.hosts():
            (folder / "nodes" / host.name).mkdir(parents=True)
            made.put(host.name, state="IDLE", reason="", boot=f"{host.name}-1\n", started="1\n")
        made.put("gpu-node4", state="IDLE+DRAIN", reason="wright: spare")
        return made

    return make
