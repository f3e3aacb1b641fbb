"""A login host's Slurm commands as small programs in a folder of PATH, and a user's home."""

import os

import pytest

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
