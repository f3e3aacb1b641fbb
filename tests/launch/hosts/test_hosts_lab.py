"""Three machines with a shared home and SSH, no scheduler: train from a hostfile, lose hosts, cancel."""

import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import clusterwright
from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.lab.able import able
from clusterwright.lab.state import folder
from clusterwright.provision.apply import remote_of

COUNTING = Path(__file__).parents[2] / "onhost" / "supervisor" / "counting.py"
NAME, PYTHON, HOME, USER_ID = "plainhosts", "/opt/clusterwright/env/bin/python", "/home-of-all/bob", 7001
TEXT = """name: plainhosts
networks:
  management: {subnet: 10.237.0.0/24, rate: 1Gbit/s}
nodes:
  first: {role: control, hosts: m1, addresses: {management: 10.237.0.11}, cpus: {cores_per_socket: 2}, memory: 4GiB}
  nodes: {role: compute, hosts: "m[2-3]", addresses: {management: 10.237.0.12}, cpus: {cores_per_socket: 2},
    memory: 4GiB}
storage:
  home: {kind: local, path: /home-of-all}
partitions:
  unused: {nodes: [nodes], default: true}
lab: {}
"""
HOSTS = ("m1", "m2", "m3")
ACCOUNT = f"""mkdir -p {HOME} && useradd --uid {USER_ID} --no-create-home --home-dir {HOME} --shell /bin/bash bob
chown bob: {HOME}
printf '10.237.0.11 m1\\n10.237.0.12 m2\\n10.237.0.13 m3\\n' >>/etc/hosts"""
KEY = """mkdir -m 700 -p ~/.ssh && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519
cp ~/.ssh/id_ed25519.pub ~/.ssh/authorized_keys
ssh-keyscan -t ed25519 m1 m2 m3 >~/.ssh/known_hosts 2>/dev/null"""
MISSING = able()
pytestmark = [
    pytest.mark.lab,
    pytest.mark.core,
    pytest.mark.train,
    pytest.mark.timeout(400),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


class Bob:
    """A user of the three machines, with `wright` in his home."""

    def __init__(self, remote, home):
        self.remote, self.home = remote, home

    def shell(self, host, command, timeout_s=60):
        """Run a shell command of his on a host."""
        inside = f"cd {HOME} && HOME={HOME} PATH=/usr/sbin:/usr/bin:/bin sh -c {shlex.quote(command)} 2>&1"
        return self.remote.run(
            host, f"runuser -u bob -- sh -c {shlex.quote(inside)} </dev/null", timeout_s=timeout_s
        )

    def wright(self, *arguments, host="m1", code=0):
        """Run `wright` on a host; its output."""
        line = shlex.join((PYTHON, "-m", "clusterwright", *arguments))
        result = self.shell(host, f"cd project && PYTHONPATH={HOME}/lib {line}", timeout_s=120)
        assert result.code == code, result.out + result.err
        return result.out

    def until(self, seen, *arguments, host="m1", limit_s=120):
        """Repeat a command until `seen` likes its output, and return that."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            out = self.wright(*arguments, host=host)
            if seen(out):
                return out
            time.sleep(1)
        logs = [file.read_text() for file in sorted((self.home / "project" / "runs").glob("*/job.out"))]
        raise AssertionError(f"not within {limit_s} s:\n{out}\n{logs[-1:]}")

    def train(self):
        """Start a training of two hosts, with a third to stand by; the name of its run."""
        (self.home / "project" / "hosts").write_text("# the lab\nm1 slots=1\nm2:1\nbob@m3 slots=1\n")
        options = (
            "--hostfile",
            "hosts",
            "--nodes",
            "2",
            "--time",
            "10m",
            "--set",
            'checkpoint.every="5 steps"',
        )
        out = self.wright("train", *options, "--", "torchrun", "counting.py", "10000", "0.2")
        assert "standby: m3" in out
        return out.split("run ", 1)[1].split(",")[0]

    def left(self, run):
        """Processes of the run on all hosts."""
        pattern = f"[{run[0]}]{run[1:]}"  # which the command line of grep itself does not match
        command = f"grep -al {shlex.quote(pattern)} /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null"
        found = []
        for host in HOSTS:
            lines = self.remote.run(host, f"{command} || true", timeout_s=30).out.split()
            found += [f"{host}{line}" for line in lines]
        return found

    def ends_without_a_process(self, run, limit_s=60):
        """Wait until no host has a process of the run."""
        end = time.monotonic() + limit_s
        while left := self.left(run):
            assert time.monotonic() < end, left
            time.sleep(1)


@pytest.fixture(scope="module")
def bob(tmp_path_factory):
    """Three bare machines and their user, who cannot log in from one to another yet."""
    file = tmp_path_factory.mktemp("plain") / "cluster.yaml"
    file.write_text(TEXT)
    cluster = load_cluster(file)
    lab.up(cluster)
    try:
        remote = remote_of(cluster)
        for host in HOSTS:
            assert remote.run(host, ACCOUNT).ok
        home = folder(NAME) / "shared" / "home-of-all" / "bob"
        package = Path(clusterwright.__file__).parent
        shutil.copytree(package, home / "lib" / "clusterwright", ignore=shutil.ignore_patterns("__pycache__"))
        (home / "project").mkdir()
        shutil.copy(COUNTING, home / "project")
        subprocess.run(["chown", "-R", str(USER_ID), str(home)], check=True, timeout=60)
        yield Bob(remote, home)
    finally:
        lab.down(NAME)


def test_without_a_key_each_host_is_named(bob):
    """Nothing is started; the message has the command that helps."""
    (bob.home / "project" / "hosts").write_text("m1\nm2\nm3\n")
    bob.shell("m1", "mkdir -m 700 -p ~/.ssh; ssh-keyscan -t ed25519 m2 m3 >~/.ssh/known_hosts 2>/dev/null")
    out = bob.wright("train", "--hostfile", "hosts", "--", "torchrun", "counting.py", "9", code=1)

    assert "m2: ssh does not log in without a password" in " ".join(out.split())
    assert "ssh-copy-id m3" in out


def test_a_lost_host_is_replaced_and_comes_back(bob):
    """The training goes on with the standby host from its checkpoint; the lost one stands by once it is back."""
    assert bob.shell("m1", KEY).ok
    run = bob.train()
    bob.until(lambda out: "generation  1" in out and "step        none" not in out, "status", run)
    assert "RUNNING" in bob.wright("jobs")
    time.sleep(3)
    lab.fault(NAME, "kill-host", "m2")
    try:
        bob.until(lambda out: "generation  2 on m1, m3; lost m2" in out, "status", run)
        bob.until(lambda out: "rank 1 of 2 from step" in out.rpartition("m3")[2], "logs", run)
    finally:
        lab.undo(NAME, "m2")
    bob.until(lambda out: "standby m2" in out, "status", run)
    resumed = [line for line in bob.wright("logs", run).splitlines() if "rank 0 of 2 from step" in line]
    assert int(resumed[-1].rsplit(" ", 1)[1]) > 0
    assert "m2 was lost" in bob.wright("status", run)
    assert bob.wright("why", run)
    bob.wright("cancel", run)
    bob.until(lambda out: "cancelled" in out, "status", run)
    bob.ends_without_a_process(run)


def test_the_loss_of_the_first_host_is_survived(bob):
    """The host that started the run, and its supervisor, are gone: another host goes on, and has the commands."""
    run = bob.train()
    bob.until(lambda out: "generation  1" in out and "step        none" not in out, "status", run)
    time.sleep(3)
    lab.fault(NAME, "kill-host", "m1")
    try:
        bob.until(lambda out: "generation  2 on m2, m3; lost m1" in out, "status", run, host="m2")
        bob.until(lambda out: out.count("rank 0 of 2 from step") == 2, "logs", run, host="m2")
    finally:
        lab.undo(NAME, "m1")
    bob.until(lambda out: "standby m1" in out, "status", run, host="m2")
    bob.wright("cancel", run, host="m3")
    bob.until(lambda out: "cancelled" in out, "status", run, host="m3")
    bob.ends_without_a_process(run)
    (bob.home / "project" / "hosts").write_text("m3\nm1\n")
    out = bob.wright("train", "--resume", run, "--hostfile", "hosts", host="m3")
    assert f"run {run}" in out
    bob.until(lambda out: "RUNNING" in out, "jobs", host="m1")
    bob.until(lambda out: "rank 1 of 2 from step" in out.rpartition("m1")[2], "logs", run, host="m1")
    assert "running" in bob.wright("status", run, host="m1")
    bob.wright("cancel", run, host="m1")
    bob.ends_without_a_process(run)
