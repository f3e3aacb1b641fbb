"""Shared folders over NFS between real hosts: served by nfs-ganesha, mounted, killed, missing; and data staged."""

import threading
import time
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.lab.able import able
from clusterwright.lab.nfs import client
from clusterwright.provision.apply import apply, remote_of

NAME, EXAMPLE = "nfs-tests", "10.223"
MISSING = able()
pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(bool(MISSING), reason=f"lab: {'; '.join(str(one) for one in MISSING)}"),
    pytest.mark.skipif(not client.DEVICE.exists(), reason="lab: no /dev/fuse"),
]
URL = "nfs://10.223.2.10/srv/shared/{}?version=4&uid=6002&gid=5000"
PROLOG = "SLURM_JOB_ID=77 SLURM_JOB_UID=6002 /etc/slurm/clusterwright/prolog"
STAGE = "SLURM_JOB_ID={job} PYTHONPATH=/opt/clusterwright/lib python3 -m clusterwright.onhost.supervisor.staging.stage"


@pytest.fixture(scope="module")
def site(lab_of, tmp_path_factory):
    """Three hosts; /shared comes from the control host by NFS, and compute hosts have scratch."""
    file = tmp_path_factory.mktemp("nfs") / "cluster.yaml"
    text = (Path(__file__).parents[2] / "examples/lab/cluster.yaml").read_text()
    yaml = YAML()
    document = yaml.load(text.replace("10.77.", f"{EXAMPLE}.").replace("gpu-node[1-4]", "gpu-node[1-2]"))
    document["name"] = NAME
    document["storage"]["shared"] = {
        "kind": "nfs", "path": "/shared", "server": "control", "export": "/srv/shared",
    }  # fmt: skip
    document["nodes"]["a100"]["disks"] = [{"size": "1TB", "mount": "/scratch"}]
    yaml.dump(document, file)
    cluster = load_cluster(file)
    try:
        lab.up(cluster)
        remote = remote_of(cluster)
        report = apply(cluster, str(file), remote)
        assert not report.failed, report
        yield lab_of(file, cluster, remote)
    finally:
        assert lab.down(NAME) == []


def until(true, limit_s=60):
    """Wait for it."""
    end = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < end
        time.sleep(0.3)


def mounted(site, host):
    """Whether /shared is a mount there, as the kernel's table says."""
    return "/shared fuse.nfs4" in site.sh(host, "cat /proc/self/mounts")


def test_a_second_apply_changes_nothing(site):
    """Server, mounts, timer."""
    report = apply(site.cluster, str(site.file), site.remote)

    assert not report.failed
    assert [change.summary for host in report.hosts for change in host.changes] == []


def test_a_client_in_user_space_writes_and_reads_back(site):
    """By libnfs' own programs, past the mount: what the server has is what was sent."""
    site.sh("control", "install -d -o bob -g vision /srv/shared/bob")
    send = "seq 200 > /tmp/sent && nfs-cp /tmp/sent '" + URL.format("bob/by-libnfs") + "'"
    until(
        lambda: site.remote.run("gpu-node1", send, timeout_s=30).ok
    )  # not while a restarted server lets reclaim

    assert site.sh("gpu-node2", f"nfs-cat '{URL.format('bob/by-libnfs')}'").split()[-1] == "200"
    assert "by-libnfs" in site.sh("gpu-node2", f"nfs-ls '{URL.format('bob')}'")
    assert site.sh("control", "cat /srv/shared/bob/by-libnfs").split()[-1] == "200"


def test_what_one_host_writes_another_reads(site):
    """Through the mount that the unit has made; owner and mode are the writer's, and root is nobody."""
    site.sh(
        "gpu-node1",
        "runuser -u bob -- sh -c 'umask 022; mkdir -p /shared/runs/b; echo one > /shared/runs/b/x'",
    )

    assert site.sh("gpu-node2", "cat /shared/runs/b/x; stat -c '%U %G %a' /shared/runs/b/x").split() == [
        "one", "bob", "vision", "644",
    ]  # fmt: skip
    assert not site.remote.run("gpu-node2", "touch /shared/runs/b/root", timeout_s=20).ok


def test_a_write_waits_for_a_server_that_was_killed(site):
    """It is neither torn nor an error: the mount is hard."""
    site.sh("gpu-node1", "head -c 40000000 /dev/urandom > /tmp/big; chmod 644 /tmp/big")
    said = []
    copy = "runuser -u bob -- cp /tmp/big /shared/runs/big && md5sum < /tmp/big"
    writer = threading.Thread(target=lambda: said.append(site.sh("gpu-node1", copy, timeout_s=150)))
    writer.start()
    until(lambda: site.remote.run("control", "test -s /srv/shared/runs/big", timeout_s=20).ok)
    site.sh("control", "systemctl kill -s KILL nfs-ganesha")
    writer.join(150)

    assert site.sh("control", "md5sum < /srv/shared/runs/big") == said[0]
    assert int(site.sh("control", "systemctl show -P NRestarts nfs-ganesha")) >= 1


def test_a_server_that_is_down_at_boot_stops_neither_the_boot_nor_lets_jobs_in(site):
    """The prolog refuses the empty folder; the timer mounts it when the server is back."""
    site.sh("control", "systemctl stop nfs-ganesha")
    try:
        lab.fault(site.cluster.name, "reboot-host", "gpu-node2")
        assert site.sh("gpu-node2", "systemctl is-active ssh").strip() == "active"
        assert not mounted(site, "gpu-node2")
        refused = site.remote.run("gpu-node2", PROLOG, timeout_s=30)
        assert not refused.ok
        assert "mount-missing /shared is not mounted" in refused.err
    finally:
        site.sh("control", "systemctl start nfs-ganesha")
    site.sh("gpu-node2", "systemctl start clusterwright-mounts.service")
    until(lambda: mounted(site, "gpu-node2"))
    site.sh("gpu-node2", "rm -f /run/clusterwright/refused")


def test_files_that_a_mount_would_hide_are_named_on_their_host(site):
    """The other hosts are done; with the files moved away the next apply mounts."""
    site.sh("gpu-node2", "systemctl stop clusterwright-mounts.timer shared.mount && touch /shared/lost")
    report = apply(site.cluster, str(site.file), site.remote)
    errors = {host.host: host.error for host in report.hosts if host.error}

    assert list(errors) == ["gpu-node2"]
    assert "/shared is not mounted and holds lost" in errors["gpu-node2"]
    site.sh("gpu-node2", "rm /shared/lost")
    assert not apply(site.cluster, str(site.file), site.remote).failed
    assert mounted(site, "gpu-node2")


def stage(site, host, job, *, make=True):
    """One host's part of a job that stages, as bob and with the places that the prolog makes."""
    if make:
        site.sh(host, PROLOG.replace("77", job))
    return site.remote.run(
        host, f"runuser -u bob -- env {STAGE.format(job=job)} /scratch /shared/text", timeout_s=60
    )


@pytest.fixture
def text(site):
    """A folder of data on the server."""
    site.sh("control", "mkdir -p /srv/shared/text && head -c 3000000 /dev/urandom > /srv/shared/text/part")


@pytest.mark.usefixtures("text")
def test_a_job_reads_its_data_locally_and_the_next_one_copies_nothing(site):
    """The prolog makes the places, the stage the copy; a full disk is named before anything is copied."""
    site.sh("gpu-node1", "rm -rf /scratch/staged/user-*")
    first, second = stage(site, "gpu-node1", "501"), stage(site, "gpu-node1", "502")

    assert "1 file, 3.0 MB, copied in" in first.out
    assert "already on this host" in second.out
    path = "/scratch/jobs/502/data/shared/text"
    assert site.sh("gpu-node1", f"readlink {path}").startswith("/scratch/staged/user-")
    assert site.sh("gpu-node1", f"md5sum < {path}/part") == site.sh(
        "control", "md5sum < /srv/shared/text/part"
    )


@pytest.mark.usefixtures("text")
def test_a_full_disk_is_named_before_anything_is_copied(site):
    """With the host, what is wanted and what is free."""
    site.sh("gpu-node2", PROLOG.replace("77", "503"))
    lab.fault(site.cluster.name, "fill-disk", "gpu-node2")
    try:
        refused = stage(site, "gpu-node2", "503", make=False)
    finally:
        lab.undo(site.cluster.name, "all")

    assert not refused.ok
    assert "stage: gpu-node2: /shared/text needs 3.0 MB and /scratch/staged/user-" in refused.err
    assert "fix:" in refused.err
