"""An upgrade over hosts that answer by a function: what is kept, seen and stopped (for real: test_upgrade_lab.py)."""

import json
import zlib
from pathlib import Path

import pytest

from clusterwright.config.load import cluster_of
from clusterwright.config.reader import read
from clusterwright.edge.fakes import FakeClock
from clusterwright.edge.processes import CommandResult
from clusterwright.errors import WrightError
from clusterwright.onhost.provision.agent import ANSWER
from clusterwright.provision.change.upgrade import steps
from clusterwright.provision.upgrade import (
    Upgrade,
    do,
    lost_jobs,
    refuse_without_packages,
    running,
    version_of,
    versions,
)

LAB = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
TEXT = LAB.read_text().replace("os: debian-12", "os: debian-13").replace(
    '# software: {slurm: "22.05"}',
    'software: {slurm: "26.05", repositories: {ours: {url: "https://a.example.org", unsigned: true}}}',
)  # fmt: skip
OLD, NEW = "24.11.5", "26.05.1"


class Site:
    """Hosts with a Slurm each; what is asked of them is kept, and a test can make a command fail."""

    sudo = False

    def __init__(self):
        self.has = {host.name: OLD for host in cluster_of(read(TEXT, "c")).hosts()}
        self.asked, self.fails, self.broken = [], [], set()
        self.queue = "7|bob|RUNNING|1:00|2:00|2|gpu-node[1-2]|None|train\n"
        self.madison = "slurm-client | 26.05.1-1 | https://a.example.org ./ Packages"

    def run(self, host, command, *, stdin=b"", timeout_s=60):  # the protocol's signature
        """As ssh would."""
        if stdin:
            return CommandResult((host,), 0, self.agent(host, stdin), "", 0.0)
        self.asked.append((host, command))
        if any(part in command for part in self.fails):
            return CommandResult((host,), 1, "", "it failed", 0.0)
        return CommandResult((host,), 0, self.say(host, command), "", 0.0)

    def say(self, host, command):
        """What the program would print."""
        nodes = "".join(f"NodeName={n} Version={v} State=MIXED\n" for n, v in self.has.items())
        answers = {
            "scontrol --version": f"slurm-wlm {self.has[host]}\n",
            "squeue": self.queue,
            "scontrol show config": f"SLURM_VERSION           = {self.has['control']}\n",
            "scontrol show node": nodes,
            "sacctmgr": "lab\n",
            "apt-cache": self.madison,
        }
        return next((text for start, text in answers.items() if command.startswith(start)), "4 file\n")

    def agent(self, host, stdin):
        """An apply brings the new release."""
        length, _, rest = stdin.partition(b"\n")
        order = json.loads(zlib.decompress(rest[int(length) :]))
        error = "disk full" if host in self.broken and order["mode"] == "apply" else ""
        if order["mode"] == "apply":
            self.asked.append((host, "apply"))
            self.has[host] = self.has[host] if error else NEW
        change = {
            "id": "package:slurmd",
            "summary": f"{OLD} -> 26.05",
            "verbs": ["upgrade"],
            "diff": "",
            "cost": "restart",
        }
        facts = {"interrupted": False, "job_steps": 0, "reached_at": ""}
        answer = {"facts": facts, "changes": [change | {"applied": not error}], "notes": [], "error": error}
        return f"{ANSWER}{json.dumps(answer | {'stale': False, 'sum': 'x'})}\n"

    def did(self, host):
        """The words of what was done on a host, without questions."""
        words = {
            "systemctl stop": "stop",
            "systemctl start": "start",
            "apply": "apply",
            "mariadb-dump": "dump",
        }
        words["tar -czf"] = "copy"
        found = [
            (key, word)
            for _, command in self.asked
            if _ == host
            for key, word in words.items()
            if key in command
        ]
        return [word for _, word in found]


@pytest.fixture
def site(monkeypatch, tmp_path):
    """All hosts with the old release and one job."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return Site()


@pytest.fixture
def task(site):
    """To the new one."""
    return Upgrade(Path("cluster.yaml"), cluster_of(read(TEXT, "c")), site, "when", FakeClock())


def all_steps(task, site):
    """What is left to do."""
    return steps(task.cluster, site.has, task.target, 2)


def test_each_daemon_is_kept_upgraded_and_seen_to_work(site, task):
    """Stopped, dumped, copied before the packages; once for the host of both; the job is still there."""
    for step in all_steps(task, site):
        do(task, step, running(task), print)

    assert site.did("control") == ["stop", "copy", "stop", "dump", "apply", "apply"]
    assert all(site.did(f"gpu-node{number}") == ["apply"] for number in (1, 2, 3, 4))
    assert set(versions(task).values()) == {NEW}
    assert all_steps(task, site) == ()


@pytest.mark.parametrize("copy", ["mariadb-dump", "tar -czf"])
def test_without_a_copy_that_can_be_read_nothing_is_upgraded(site, task, copy):
    """The daemons of before run again."""
    site.fails = [copy]

    with pytest.raises(WrightError, match="failed: it failed"):
        do(task, all_steps(task, site)[0], running(task), print)
    assert "apply" not in site.did("control")
    assert site.did("control")[-2:] == ["start", "start"]


def test_a_host_that_fails_stops_the_upgrade(site, task):
    """With its words; the command goes on from there when it is run again."""
    site.broken = {"gpu-node1"}
    todo = all_steps(task, site)
    do(task, todo[0], {}, print)
    do(task, todo[1], {}, print)
    with pytest.raises(WrightError, match=r"upgrade stopped at slurmd on gpu-node1(.|\n)*disk full"):
        do(task, todo[2], {}, print)

    assert [step.hosts for step in all_steps(task, site)] == [
        ("gpu-node1",),
        ("gpu-node2", "gpu-node3"),
        ("gpu-node4",),
    ]


@pytest.mark.parametrize(
    ("number", "silent", "words"),
    [
        (0, "sacctmgr", "slurmdbd does not respond"),
        (1, "scontrol show config", "slurmctld does not respond"),
        (2, "scontrol show node", "slurmctld reports version none for gpu-node1"),
    ],
)
def test_a_daemon_that_does_not_answer_stops_the_upgrade(site, task, number, silent, words):
    """No later step is begun on a guess."""
    todo = all_steps(task, site)
    for step in todo[:number]:
        do(task, step, {}, print)
    site.fails = [silent]

    with pytest.raises(WrightError, match=words):
        do(task, todo[number], {}, print)


def test_a_job_that_is_gone_stops_the_upgrade(site, task):
    """One that ended as jobs end does not."""
    before = running(task)
    site.queue = site.queue.replace("RUNNING", "COMPLETED")
    ended = lost_jobs(task, before)
    site.queue = site.queue.replace("COMPLETED", "NODE_FAIL")

    assert (ended, lost_jobs(task, before)) == ([], ["7"])
    site.queue = ""
    assert lost_jobs(task, before) == ["7"]


def test_packages_that_are_not_known_are_said_before_anything_stops(site, task):
    """With what the host does know."""
    site.madison = "slurm-client | 24.11.5-4 | http://deb.example.org trixie/main amd64 Packages"

    with pytest.raises(WrightError, match=r"available versions: 24\.11\.5-4"):
        refuse_without_packages(task, ("control", "gpu-node1"))
    assert site.did("control") == []


def test_a_host_without_an_answer_is_no_half_upgrade(site, task):
    """It is named, and how to leave it out."""
    site.has["gpu-node2"] = ""

    with pytest.raises(WrightError, match="the Slurm version of gpu-node2 is unknown"):
        versions(task)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("slurm-wlm 24.11.5\n", "24.11.5"),
        ("slurm 26.05.0-0rc1\n", "26.05.0"),
        ("bash: scontrol: not found\n", ""),
    ],
)
def test_versions_as_the_programs_print_them(text, version):
    """Debian's name and Slurm's own."""
    assert version_of(text) == version
