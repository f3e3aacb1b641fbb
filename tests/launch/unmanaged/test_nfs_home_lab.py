"""A user whose home is on an NFS server of the site: the first training, on a cluster that Clusterwright did not build.

Debian's nfs-ganesha serves the folder; the lab's client, libnfs and FUSE, mounts it, because the hosts share a kernel
that may have no NFS.
"""

import json

import pytest

from clusterwright.lab.able import able
from clusterwright.lab.nfs import client
from clusterwright.lab.state import folder

NAME, NET, HOMES = "foreign-nfs", "10.248.0", "/home-of-all"
TEXT = f"""name: {NAME}
networks:
  management: {{subnet: {NET}.0/24, rate: 1Gbit/s}}
nodes:
  control: {{role: control, hosts: slurm-ctl, addresses: {{management: {NET}.10}}, cpus: {{cores_per_socket: 2}},
    memory: 4GiB}}
  nodes: {{role: compute, hosts: "n[1-3]", addresses: {{management: {NET}.11}}, cpus: {{cores_per_socket: 2}},
    memory: 4GiB}}
storage:
  home: {{kind: nfs, server: slurm-ctl, path: {HOMES}}}
partitions:
  debug: {{nodes: [nodes], default: true}}
lab: {{}}
"""
# As ganesha-config(8) has an export; the default grace period would make a new server wait for 90 s.
GANESHA = f"""NFSv4 {{ Grace_Period = 5; Lease_Lifetime = 4; Only_Numeric_Owners = true; RecoveryBackend = fs; }}
EXPORT {{
  Export_Id = 1; Path = {HOMES}; Pseudo = {HOMES}; Access_Type = RW; Squash = root_squash; SecType = sys; Protocols = 4;
  FSAL {{ Name = VFS; }}
}}
"""
MISSING = able()
pytestmark = [
    pytest.mark.lab,
    pytest.mark.train,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
    pytest.mark.skipif(not client.DEVICE.exists(), reason="lab: no /dev/fuse"),
]


def homes(remote):
    """The folder of all homes, on this machine: the one that the server has; all nodes have it mounted."""
    serve = f"chmod 755 {HOMES}; cat >/etc/ganesha/ganesha.conf; systemctl start nfs-ganesha"
    started = remote.run("slurm-ctl", serve, stdin=GANESHA.encode(), timeout_s=120)
    assert started.ok, started.err
    mount = f"mkdir -p {HOMES} && mount -t nfs4 {NET}.10:{HOMES} {HOMES} && grep {HOMES} /proc/self/mounts"
    for host in ("n1", "n2", "n3"):
        mounted = remote.run(
            host, f"for i in $(seq 30); do {mount} && exit 0; sleep 1; done; exit 1", timeout_s=120
        )
        assert mounted.ok, mounted.out + mounted.err
        assert "fuse.nfs4" in mounted.out
    return folder(NAME) / "hosts" / "slurm-ctl" / "disk" / "served" / HOMES.strip("/")


def test_a_training_runs_and_ends(bob):
    """The home is learned as shared; two hosts train with code and runs in it, and all commands see the end."""
    name = bob.count(20)
    bob.until(lambda out: "finished" in out, "status", name, limit_s=240)

    learned = json.loads((bob.home / ".cache" / "clusterwright" / "slurm" / "here.json").read_text())
    assert learned["shared"] == f"{HOMES}/bob/wright"
    log = bob.wright("logs", name)
    assert "rank 0 of 2 from step 0" in log
    assert (
        "rank 1 of 2 from step" in log
    )  # the program's ranks do not wait for each other: a late one starts further on
    bob.until(lambda out: "finished" in out, "jobs")  # the job is completing for a while
    assert "no failure" in bob.wright("why", name)
    assert (bob.home / "wright" / "runs" / name).stat().st_mode & 0o7777 == 0o700


def test_a_run_is_canceled(bob):
    """`cancel` ends the run with a checkpoint in the folder of the server."""
    name = bob.count(10_000)
    bob.until(
        lambda out: "generation  1" in out and "step        none" not in out, "status", name, limit_s=240
    )
    assert f"canceled {name}" in bob.wright("cancel", name)
    bob.until(lambda out: "cancelled" in out.splitlines()[1], "status", name, limit_s=120)
    assert list((bob.home / "wright" / "runs" / name).rglob("step-*"))
