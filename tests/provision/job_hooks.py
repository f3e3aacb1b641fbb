"""The programs around jobs in a folder of a test, and the codes that they print."""

import os
import shutil
import subprocess
from pathlib import Path

from clusterwright.config.load import load_cluster
from clusterwright.provision.render.job_hooks import FOLDER, declared, hook_texts

DATA = Path(__file__).parents[1] / "data" / "nvidia_smi"
EXAMPLE = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
UID = 50000 + os.getpid() % 9000  # nobody's on this machine, nor of a test beside this one
DRIVER = """#!/bin/sh
echo "$*" >>{folder}/calls
case "$*" in
  *compute-apps*) cat {folder}/apps ;;
  *query-gpu*) sleep "$(cat {folder}/delay)"; cat {folder}/answer ;;
esac
"""


class Hooks:
    """The programs in a folder, with what they read replaced by files beside them."""

    def __init__(self, folder):
        self.folder = folder
        self.scratch = folder / "scratch"
        self.run_folder = folder / "run"
        self.scratch.mkdir()
        (folder / "scratch").chmod(0o755)
        for path, text in hook_texts("# header\n").items():
            self._write(path.removeprefix(f"{FOLDER}/"), text, 0o755)
        (folder / "driver").mkdir()
        for path in DATA.glob("information_*"):
            place = folder / "driver" / path.name
            place.mkdir()
            shutil.copy(path, place / "information")
        self._write("nvidia-smi", DRIVER.format(folder=folder), 0o755)
        self._write("dmesg", f"#!/bin/sh\ncat {folder}/kernel.log\n", 0o755)
        self._write("kernel.log", "")
        self._write("apps", "")
        self._write("calls", "")
        self._write("delay", "0")
        self._write("mounts", f"/dev/sda1 / ext4 rw,relatime 0 0\n/dev/sdb {self.scratch} xfs rw 0 0\n")
        self._write("addresses", "2: eth1    inet 10.77.1.11/24 brd 10.77.1.255 scope global eth1\n")
        (folder / "links" / "eth1").mkdir(parents=True)
        self._write("links/eth1/operstate", "up\n")
        self._write("swaps", "Filename Type Size Used Priority\n")
        self._write("vmstat", "nr_free_pages 9\noom_kill 3\n")
        self.gpus("healthy")
        cluster = load_cluster(EXAMPLE)
        self._write("declared", declared(cluster, cluster.host("gpu-node1"), "") + self.declare())

    def declare(self):
        """The later value holds."""
        rows = {
            "GPU_DRIVER": 1, "NVIDIA_SMI": self.folder / "nvidia-smi", "DRIVER_FILES": self.folder / "driver",
            "KERNEL_LOG": self.folder / "dmesg", "MOUNT_TABLE": self.folder / "mounts",
            "SWAP_TABLE": self.folder / "swaps", "VMSTAT": self.folder / "vmstat",
            "RUN": self.run_folder, "KEPT": self.folder / "kept",
            "STATE": self.folder / "state", "PROBE_S": 60, "NETWORKS": "", "ADDRESSES": f"cat {self.folder}/addresses",
            "LINKS": self.folder / "links", "RDMA": self.folder / "rdma", "RDMA_PORTS": 0,
            "CACHES": "", "SCRATCH": self.scratch, "SCRATCH_MOUNTED": 1, "LOCAL": self.folder,
            "PUBLIC": self.folder / "public",
            "GPU_FILES": "/dev/null /dev/zero /dev/full /dev/random", "ISOLATION": "",
        }  # fmt: skip
        return "".join(f"{name}='{value}'\n" for name, value in rows.items())

    def _write(self, name, text, mode=0o644):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(mode)

    def say(self, name, text):
        """Another content of a file that the programs read."""
        self._write(name, text)

    def more(self, text):
        """Further declarations."""
        self._write("declared", (self.folder / "declared").read_text() + text)

    def gpus(self, name):
        """What the driver says from now on."""
        shutil.copy(DATA / f"{name}.csv", self.folder / "answer")

    def run(self, name, job=7, uid=UID, gpus="0,1", **environment):
        """One of the programs, for a job."""
        known = {
            "SLURM_JOB_ID": str(job),
            "SLURM_JOB_UID": str(uid),
            "SLURM_JOB_GPUS": gpus,
            "PATH": os.environ["PATH"],
        }
        return subprocess.run(
            [self.folder / name],
            env=known | environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


def codes(done):
    """The codes that a program said, in order."""
    return [line.split()[1] for line in done.stderr.splitlines() if line.startswith("wright: ")]
