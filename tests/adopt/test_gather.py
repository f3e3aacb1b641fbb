"""What is read from a control host and from other hosts: only texts, and nothing on the hosts is changed."""

import os
import subprocess
from dataclasses import replace

import pytest

from clusterwright.adopt.baseline import format_baseline, site_baseline
from clusterwright.adopt.facts import facts_of
from clusterwright.adopt.gather import gather, gather_tables
from clusterwright.adopt.recorded import RecordedHost, RecordedSite
from clusterwright.adopt.site import describe
from clusterwright.cli.diff import watched_lines
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import LocalMachine
from clusterwright.errors import WrightError
from clusterwright.provision.render.slurm_conf import slurm_conf

CONF = """ClusterName=tiny
SlurmctldHost=localhost
Include more/nodes.conf
PartitionName=p Nodes=n[1-2] Default=YES
"""
MOUNTS = (
    '{"filesystems": [{"target": "/data", "source": "s:/w", "fstype": "nfs4", "options": "rw"},'
    ' {"target": "/data/sub", "source": "s:/x", "fstype": "nfs4", "options": "rw"},'
    ' {"target": "/home", "source": "s:/h", "fstype": "nfs", "options": "rw"},'
    ' {"target": "/boot", "source": "/dev/sda1", "fstype": "ext4", "options": "rw"}]}'
)
HOST = RecordedHost(
    os_release='ID=debian\nVERSION_ID="12"\n',
    meminfo="MemTotal: 263000000 kB\nSwapTotal: 0 kB\n",
    lscpu="Socket(s):  2\nCore(s) per socket: 32\nThread(s) per core:  2\n",
    gpus="NVIDIA A100-SXM4-80GB, 81920, 580.95.05\n",
    mounts=MOUNTS,
)


@pytest.fixture
def control_host(tmp_path, monkeypatch):
    """This machine with a folder of Slurm's files and a scontrol that names it."""
    folder, programs = tmp_path / "etc", tmp_path / "bin"
    (folder / "more").mkdir(parents=True)
    programs.mkdir()
    (folder / "slurm.conf").write_text(CONF)
    (folder / "more" / "nodes.conf").write_text("NodeName=n[1-2] CPUs=4 RealMemory=3000\n")
    scontrol = programs / "scontrol"
    scontrol.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo slurm 24.05.3\n'
        f'[ "$*" = "show config" ] && echo "SLURM_CONF = {folder}/slurm.conf"\n'
    )
    scontrol.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return folder


def checksums(folder):
    """Names, times and contents of all files below the folder."""
    return subprocess.run(
        f"find {folder} -type f -printf '%p %T@\\n' -exec sha256sum {{}} +",
        shell=True,
        capture_output=True,
        check=True,
    ).stdout


def test_a_control_host_is_read_and_not_changed(control_host):
    """Files with what they include, Slurm's version and this machine's facts."""
    before = checksums(control_host)

    site = gather(LocalMachine(), "localhost")

    described = describe(site.sources(), site.version, "localhost", facts_of(site))
    assert site.version == "24.05.3"
    assert described.cluster.host("n2").group.cpus.threads == 4
    assert described.differences == ()
    assert all(line.file.startswith("localhost:") for line in described.adopted.left_out)
    assert checksums(control_host) == before


def test_a_changed_slurm_conf_is_watched(control_host, monkeypatch):
    """`wright diff` names what the site changed since, in both values, and nothing before that."""
    monkeypatch.setattr("clusterwright.provision.apply.remote_of", lambda _cluster: LocalMachine())
    site = gather(LocalMachine(), "localhost")
    cluster = describe(site.sources(), site.version, "localhost", facts_of(site)).cluster
    unchanged = watched_lines(cluster)

    (control_host / "more" / "nodes.conf").write_text("NodeName=n[1-2] CPUs=4 RealMemory=2000\n")
    with (control_host / "slurm.conf").open("a") as file:
        file.write("KillWait=60\n")

    assert unchanged == []
    assert watched_lines(cluster) == [
        "slurm.conf: node n1: realmemory: 3000 -> 2000",
        "slurm.conf: node n2: realmemory: 3000 -> 2000",
        "slurm.conf: setting: killwait: - -> 60",
    ]
    (control_host / "slurm.conf").unlink()
    assert "no readable slurm.conf" in watched_lines(cluster)[0]


def test_a_missing_or_damaged_baseline_is_a_line(control_host, monkeypatch, tmp_path):
    """Nothing is compared with it, which is no silence; a written one has no difference."""
    monkeypatch.setattr("clusterwright.provision.apply.remote_of", lambda _cluster: LocalMachine())
    site = gather(LocalMachine(), "localhost")
    cluster = describe(site.sources(), site.version, "localhost", facts_of(site)).cluster
    file, path = tmp_path / "c.yaml", tmp_path / "c.baseline.json"

    (missing,) = watched_lines(cluster, file)
    path.write_text("{")
    (damaged,) = watched_lines(cluster, file)
    path.write_text(format_baseline(site_baseline(site.hosts)))

    assert "are not compared" in missing
    assert "are not compared" in damaged
    assert all(str(path) in line for line in (missing, damaged))
    assert watched_lines(cluster, file) == []


def test_a_host_without_slurm_is_refused(tmp_path, monkeypatch):
    """No slurm.conf, no cluster file."""
    monkeypatch.setattr("clusterwright.adopt.gather._DEFAULT", str(tmp_path / "slurm.conf"))

    with pytest.raises(WrightError) as error:
        gather(LocalMachine(), "localhost")

    assert error.value.findings[0].code == "no-slurm"


def described(hosts, addresses="", gres="gpu:a100:1"):
    """The site of CONF with these hosts."""
    files = {"/e/slurm.conf": CONF, "/e/more/nodes.conf": f"NodeName=n[1-2] CPUs=4 Gres={gres}\n"}
    site = RecordedSite(files, "/e", "24.05.3", addresses, hosts)
    return describe(site.sources(), site.version, "x", facts_of(site))


def test_facts_of_hosts_fill_what_slurm_conf_does_not_say():
    """Distribution, driver, memory and processors, GPU memory, and shared folders except /home."""
    site = described({"n1": HOST, "localhost": HOST})

    cluster = site.cluster
    assert (cluster.os, cluster.software.driver) == ("debian-12", "580.95.05")
    (folder,) = cluster.storage.values()
    assert (folder.path, folder.server, folder.export) == ("/data", "s", "/w")
    assert cluster.nodes["control"].cpus.threads == 128
    group = cluster.nodes["n"]
    assert (group.memory >> 20, group.gpus.memory >> 30) == (256836, 80)
    assert site.differences == ()
    assert "os" not in site.adopted.placeholders


def test_gpus_without_a_type_have_the_name_of_the_driver():
    """Slurm has no type for them, so jobs request none; `plan` and `tune` get the GPU of the catalog."""
    site = described({"n1": HOST, "localhost": HOST}, gres="gpu:1")

    group = site.cluster.nodes["n"]
    assert (group.gpus.model, group.options["Gres"]) == ("a100-sxm-80gb", "gpu:1")
    assert site.differences == ()


@pytest.mark.parametrize("text", ["", "x", "{}", '{"filesystems": 1}', "MemTotal: x", "\x1b[2J", "a,b,c\n"])
def test_damaged_texts_of_hosts_are_not_known(text):
    """A host can print anything: it is a value that is not known."""
    site = described({"n1": RecordedHost(text, text, text, text, text)}, addresses=text)

    assert "os" in site.adopted.placeholders
    assert not site.cluster.storage


def test_a_group_with_another_system_has_its_own():
    """The file has the distribution of most hosts; a group with two of them is named."""
    rocky = RecordedHost(os_release='ID="rocky"\nVERSION_ID="9.4"\n')

    site = described({"n1": HOST, "n2": HOST, "localhost": rocky})
    mixed = described({"n1": HOST, "n2": rocky, "localhost": HOST})

    assert site.cluster.os == "debian-12"
    assert site.cluster.nodes["control"].os == "rocky-9"
    assert site.cluster.nodes["n"].os is None
    assert "nodes.n.os: the hosts run debian-12, rocky-9" in mixed.adopted.placeholders


TWO = """ClusterName=pair
SlurmctldHost=ctl1(10.5.0.1)
SlurmctldHost=ctl2(10.5.0.2)
NodeName=n[1-2] NodeAddr=10.5.1.[1-2] CPUs=4 RealMemory=3000
PartitionName=p Nodes=n[1-2] Default=YES
"""


def test_two_control_hosts_with_different_systems_are_two_groups_of_the_same_meaning():
    """Both controllers stay controllers in their order, each with its own system and hardware."""
    rocky = replace(HOST, os_release='ID="rocky"\nVERSION_ID="9.4"\n', meminfo="MemTotal: 8000000 kB\n")
    recorded = RecordedSite(
        {"/e/slurm.conf": TWO}, "/e", "24.05.3", "", {"ctl1": HOST, "ctl2": rocky, "n1": HOST}
    )

    site = describe(recorded.sources(), recorded.version, "x", facts_of(recorded))

    cluster = site.cluster
    assert site.differences == ()
    assert [host.name for host in cluster.hosts("control")] == ["ctl1", "ctl2"]
    assert [str(host.management) for host in cluster.hosts("control")] == ["10.5.0.1", "10.5.0.2"]
    assert [cluster.on(host).os for host in cluster.hosts("control")] == ["debian-12", "rocky-9"]
    assert cluster.control.name == "ctl1"
    assert cluster.host("ctl2").group.memory < cluster.host("ctl1").group.memory
    assert "SlurmctldHost=ctl1(10.5.0.1)\nSlurmctldHost=ctl2(10.5.0.2)\n" in slurm_conf(cluster, "")


@pytest.mark.parametrize(("sudo", "expected"), [("exit 1", "own\n"), ('shift; ADMIN=all "$@"', "all\n")])
def test_accounts_are_read_as_root_where_the_user_may(tmp_path, monkeypatch, sudo, expected):
    """Under PrivateData a user sees only the own accounts; without sudo those are read."""
    for name, script in (
        ("id", "echo 1000"),
        ("sudo", sudo),
        ("sacctmgr", "echo ${ADMIN:-own}"),
        ("scontrol", "echo ${ADMIN:-own}"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    tables = gather_tables(Host(LocalMachine(), "localhost"))

    assert set(tables.values()) == {expected}
    assert set(tables) == {"qos", "associations", "users", "reservations"}
