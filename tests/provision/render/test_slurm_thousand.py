"""A thousand hosts: the real slurmctld starts on what we render, and answers at once. Figures: bench/scale.py."""

import os
import shutil
import subprocess
import sys

import pytest

from clusterwright.provision.render.gres_conf import gres_conf
from clusterwright.provision.render.slurm_conf import slurm_conf
from clusterwright.provision.render.topology_conf import topology

HEADER = "# header\n"
RACKS, IN_A_RACK = 32, 32
# In a network of its own: slurmctld up, then how long sinfo takes.
ASK = """
import os, subprocess, sys, time
from clusterwright.onhost.lib import processes
from clusterwright.onhost.provision import slurm_trial
folder = sys.argv[1]
assert slurm_trial.enter_network_namespace()
slurm_trial.rewrite(folder)
os.environ["SLURM_CONF"] = folder + "/slurm.conf"
with open(folder + "/said", "wb") as said:
    daemon = subprocess.Popen(["slurmctld", "-D", "-c"], stdout=said, stderr=said, start_new_session=True)
try:
    limit = time.monotonic() + 60
    up, output = slurm_trial.UP, slurm_trial.read_output
    while not up.search(output(folder)) and daemon.poll() is None and time.monotonic() < limit:
        time.sleep(0.05)
    listed = subprocess.run(["sinfo", "-N", "-h", "-o", "%N %t"], stdout=subprocess.PIPE, text=True, check=True)
    print(len(set(listed.stdout.split("\\n")) - {""}))
finally:
    processes.kill_group(daemon)
"""


@pytest.fixture
def thousand(altered):
    """32 racks of 32 hosts with 8 GPUs, on leaf switches of their own."""
    changes = {
        f"nodes.rack{rack}": {
            "role": "compute", "hosts": f"r{rack:02}-[01-{IN_A_RACK}]", "switch": f"leaf{rack}",
            "addresses": {"management": f"10.78.{rack + 1}.1", "compute": f"10.79.{rack + 1}.1"},
            "cpus": {"sockets": 2, "cores_per_socket": 56, "threads_per_core": 2}, "memory": "2TiB",
            "gpus": {"model": "h100", "count": 8, "nvlink": True},
        }
        for rack in range(RACKS)
    }  # fmt: skip
    changes |= {
        "nodes.a100": None,
        "networks.management.subnet": "10.78.0.0/16",
        "networks.compute.subnet": "10.79.0.0/16",
        "networks.storage": None,
        "nodes.control.addresses": {"management": "10.78.0.10"},
        "partitions.train.nodes": [f"rack{rack}" for rack in range(RACKS)],
        "partitions.short": {"nodes": [f"rack{rack}" for rack in range(8)], "max_time": "4h"},
        "lab": None,
    }
    return altered(changes)


@pytest.mark.slurm
@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("slurmctld"), reason="needs root and slurmctld")
def test_slurmctld_lists_a_thousand_hosts(thousand, tmp_path):
    """None of which is there."""
    (tmp_path / "slurm.conf").write_text(slurm_conf(thousand, HEADER))
    (tmp_path / "gres.conf").write_text(gres_conf(thousand, HEADER))
    name, text = topology(thousand, HEADER)
    (tmp_path / name).write_text(text)

    done = subprocess.run(
        [sys.executable, "-c", ASK, str(tmp_path)], capture_output=True, text=True, check=False, timeout=200
    )

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == RACKS * IN_A_RACK
