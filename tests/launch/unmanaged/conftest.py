"""A login host's Slurm commands as small programs in a folder of PATH, and a user's home."""

import os
import subprocess
import sys

import pytest

from clusterwright.config.cluster import Unmanaged
from clusterwright.launch.unmanaged.learn import SlurmTexts, learn

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
