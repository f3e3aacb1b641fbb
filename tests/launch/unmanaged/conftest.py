"""A login host's Slurm commands as small programs in a folder of PATH, and a user's home; a lab with a user."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import clusterwright
from clusterwright import lab
from clusterwright.config.cluster import Unmanaged
from clusterwright.config.load import load_cluster
from clusterwright.launch.unmanaged.learn import SlurmTexts, learn
from clusterwright.provision.apply import remote_of

PYTHON, HOME = "/opt/clusterwright/env/bin/python", "/home-of-all/bob"
FOREIGN = Path(__file__).with_name("foreign.sh")
COUNTING = Path(__file__).parents[2] / "onhost" / "supervisor" / "counting.py"
CONFIG = "ClusterName = tiny\nSLURM_VERSION = 24.11.5\n"
NODE = "NodeName=n1 CoresPerSocket=4 CPUTot=4 NodeAddr=127.0.0.1 RealMemory=4000 Sockets=1 ThreadsPerCore=1 State=IDLE"
PARTITION = "PartitionName=debug Default=YES MaxNodes=UNLIMITED MaxTime=1:00:00 Nodes=n1 State=UP"
SCONTROL = f"""#!/bin/sh
echo "$*" >>"$HOME/asked"
case "$*" in
  ping) exit 0 ;;
  "show config") printf '{CONFIG}' ;;
  show\\ node*) echo '{NODE} Partitions=debug' ;;
  show\\ partition*) echo '{PARTITION}' ;;
  *) exit 1 ;;
esac
"""


class LoginHost:
    """This machine with commands of Slurm: `srun` is the text of a program, and `asked` what scontrol was asked."""

    def __init__(self, folder, monkeypatch):
        self.bin, self.home = folder / "bin", folder / "home"
        self.bin.mkdir()
        self.home.mkdir()
        monkeypatch.setenv("PATH", f"{self.bin}:{os.environ['PATH']}")
        monkeypatch.setenv("HOME", str(self.home))
        for name in ("SCRATCH", "WORK", "XDG_CACHE_HOME", "CLUSTERWRIGHT_SHARED", "CLUSTERWRIGHT_CLUSTER"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.chdir(self.home)
        self.program("scontrol", SCONTROL)
        self.srun('while [ "$1" != sh ]; do shift; done; exec "$@"')

    def program(self, name, text):
        """Put a program into PATH."""
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def srun(self, text):
        """Make this shell text `srun`."""
        self.program("srun", f"#!/bin/sh\n{text}\n")

    @property
    def asked(self):
        """How often the nodes were asked for."""
        file = self.home / "asked"
        return sum("show node -o" in line for line in file.read_text().splitlines()) if file.exists() else 0


@pytest.fixture
def login_host(tmp_path, monkeypatch):
    """A host with Slurm whose node sees all folders."""
    return LoginHost(tmp_path, monkeypatch)


NODES = "".join(
    f"NodeName={name} CoresPerSocket=4 CPUTot=4 Gres={gres} RealMemory=1 Sockets=1 ThreadsPerCore=1 "
    f"State={state} Partitions={partition}\\n"
    for name, gres, state, partition in (
        ("n1", "(null)", "IDLE", "debug"), ("n2", "(null)", "IDLE+DRAIN", "debug"),
        ("n3", "(null)", "ALLOCATED", "debug"), ("g1", "gpu:a100:4", "MIXED", "gpu"),
    )
)  # fmt: skip
PARTITIONS = "".join(
    f"PartitionName={name} Default={default} MaxNodes=UNLIMITED MaxTime=1:00:00 Nodes={nodes} State=UP\\n"
    for name, default, nodes in (("debug", "YES", "n[1-3]"), ("gpu", "NO", "g1"))
)
USERS_SCONTROL = f"""#!/bin/sh
case "$*" in
  ping) ;;
  "show config") printf 'ClusterName = tiny\\nSLURM_VERSION = 24.11.5\\n' ;;
  show\\ node*) printf '{NODES}' ;;
  show\\ partition*) printf '{PARTITIONS}' ;;
  show\\ job*) cat "$HOME/job-record" ;;
  *) exit 1 ;;
esac
"""
SINFO = """#!/bin/sh
case "$*" in
  *partition=gpu*) echo 'g1|mixed|none' ;;
  *) printf 'n1|idle|none\\nn2|drained|bad fan\\nn3|allocated|none\\n' ;;
esac
"""
SBATCH = """#!/bin/sh
for script in "$@"; do :; done
cp "$script" "$HOME/job.sh"
SLURMD_NODENAME=$(sed -n 's/#SBATCH --nodelist=//p' "$script") setsid sh "$script" >/dev/null 2>&1 &
echo 7
"""


@pytest.fixture
def user(login_host):
    """A user on a login host with one idle, one drained and one busy node, and a partition with GPUs."""
    login_host.program("scontrol", USERS_SCONTROL)
    login_host.program("sinfo", SINFO)
    login_host.program("sbatch", SBATCH)
    login_host.program("squeue", "#!/bin/sh\necho RUNNING\n")
    login_host.program("scancel", '#!/bin/sh\necho "$*" >>"$HOME/canceled"\n')
    login_host.program("id", "#!/bin/sh\n[ $1 = -u ] && echo 1000 || echo bob\n")
    login_host.srun('while [ "$1" != sh ] && [ "$1" != python3 ]; do shift; done; exec "$@"')
    (login_host.home / "job-record").write_text("JobId=7 JobState=RUNNING Reason=None\n")
    return login_host


def wright(*arguments):
    """Run a command in the home of the user; its result."""
    command = (sys.executable, "-m", "clusterwright", *arguments)
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def learned_texts():
    """The records of that cluster."""
    partitions, nodes = (text.replace("\\n", "\n") for text in (PARTITIONS, NODES))
    config = "ClusterName = tiny\nSLURM_VERSION = 24.11.5\n"
    return SlurmTexts(config, nodes, partitions, "10.0.0.1\n10.0.0.6\n", "login")


@pytest.fixture
def tiny(learned_texts):
    """The cluster of the records."""
    return learn(learned_texts, "/home/bob/wright", Unmanaged(), "python3")


class Bob:
    """A user on the login host, with `wright` in his home and nothing else of ours on any host."""

    def __init__(self, remote, home):
        self.remote, self.home = remote, home

    def wright(self, *arguments, code=0, cwd="project", timeout_s=120):
        """Run a command of his; its output, stderr included."""
        line = shlex.join((PYTHON, "-m", "clusterwright", *arguments))
        inside = f"cd {HOME}/{cwd} && HOME={HOME} PYTHONPATH={HOME}/lib PATH=/usr/bin:/bin {line} 2>&1"
        command = f"runuser -u bob -- sh -c {shlex.quote(inside)} </dev/null"
        result = self.remote.run("slurm-ctl", command, timeout_s=timeout_s)
        assert result.code == code, result.out + result.err
        return result.out

    def until(self, seen, *arguments, limit_s=120):
        """Repeat a command until `seen` likes its output, and return that."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            out = self.wright(*arguments)
            if seen(out):
                return out
            time.sleep(1)
        raise AssertionError(f"not within {limit_s} s:\n{out}\n{self.wright('logs', 'last')}")

    def count(self, steps, *options):
        """Start a training of two hosts that counts; the name of its run."""
        hosts = ("--nodes", "2", "--gpus", "1", "--time", "10m", "--set", 'checkpoint.every="5 steps"')
        out = self.wright("train", *hosts, *options, "--", PYTHON, "counting.py", str(steps), "0.2")
        assert "warning" not in out  # an administrator's settings are not his to change
        return out.split("run ", 1)[1].split(",")[0]


@pytest.fixture(scope="module")
def bob(request, tmp_path_factory):
    """A cluster that another hand built, on the lab of the module's TEXT, and its user.

    The module's `homes` prepares the folder of all homes, and returns it as this machine has it.
    """
    file = tmp_path_factory.mktemp("foreign") / "cluster.yaml"
    file.write_text(request.module.TEXT)
    cluster = load_cluster(file)
    remote = remote_of(cluster)
    lab.up(cluster)
    try:
        home = request.module.homes(remote) / "bob"
        network = str(cluster.control.management).rpartition(".")[0]
        script = re.sub(r"\b10\.\d+\.0\b", network, FOREIGN.read_text())
        subprocess.run(["sh", "-s", cluster.ssh_config], input=script.encode(), check=True, timeout=180)
        package = Path(clusterwright.__file__).parent
        shutil.copytree(package, home / "lib" / "clusterwright", ignore=shutil.ignore_patterns("__pycache__"))
        (home / "project").mkdir()
        shutil.copy(COUNTING, home / "project")
        subprocess.run(["chown", "-R", "7001", str(home)], check=True, timeout=60)
        yield Bob(remote, home)
    finally:
        left = lab.down(cluster.name)
    assert left == []
