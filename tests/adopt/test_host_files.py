"""Files and settings of hosts: kernel settings, folders and held packages as fields, each other line with its place."""

from dataclasses import replace
from pathlib import Path

import pytest

from clusterwright.adopt.facts import facts_of
from clusterwright.adopt.recorded import RecordedHost, RecordedSite
from clusterwright.adopt.site import describe

# Recorded on 2026-11-27 from a Debian 12 host of a lab that was changed by hand.
RECORDED = Path(__file__).parent / "recorded" / "host"
HOST = RecordedHost(**{path.name: path.read_text() for path in RECORDED.iterdir()})
CONF = """ClusterName=c
SlurmctldHost=head(10.9.0.1)
NodeName=m[1-2] NodeAddr=10.9.0.[2-3] CPUs=2
PartitionName=p Nodes=m[1-2] Default=YES
"""
MOUNTS = (
    '{"filesystems": [{"target": "/work", "source": "nas.example.org:/export/work", "fstype": "nfs4", "options": "rw"},'
    ' {"target": "/data", "source": "head:/srv/data", "fstype": "nfs4", "options": "rw"},'
    ' {"target": "/lustre", "source": "mgs@tcp:/fs", "fstype": "lustre", "options": "rw"}]}'
)
FSTAB = (
    HOST.fstab
    + "head:/srv/data /data nfs4 soft,x-systemd.automount 0 0\nmgs@tcp:/fs /lustre lustre flock 0 0\n"
)


def described(hosts):
    """The site of these hosts."""
    site = RecordedSite({"/e/slurm.conf": CONF}, "/e", "24.05.3", "", hosts)
    return describe(site.sources(), site.version, "x", facts_of(site))


def listed(site, *files):
    """Places and texts of the lines of these files that the file lists."""
    assert all(str(line.line) in site.text and line.file in site.text for line in site.adopted.left_out)
    return [
        (line.file, line.line, line.text)
        for line in site.adopted.left_out
        if line.file.partition(":")[2] in files
    ]


def test_what_all_compute_hosts_have_in_common_is_in_system():
    """Kernel settings of the files in /etc, of a name with two lines the last; and packages that all hosts hold."""
    other = replace(HOST, sysctl=HOST.sysctl.replace("numa_balancing = 0", "numa_balancing = 1"))

    system = described({"m1": HOST, "m2": other, "head": HOST}).cluster.system

    assert (system.sysctl["net.core.rmem_max"], system.sysctl["vm.swappiness"]) == ("134217728", "1")
    assert "kernel.numa_balancing" not in system.sysctl
    assert system.hold_packages == ("slurm-client",)


def test_other_kernel_settings_are_listed_with_file_and_line():
    """A value that differs between hosts, a setting that other fields write, and those of the control host."""
    other = replace(HOST, sysctl=HOST.sysctl.replace("numa_balancing = 0", "numa_balancing = 1"))
    head = RecordedHost(sysctl="==> /etc/sysctl.conf <==\n# none\nnet.ipv4.ip_forward=1\n")
    own = "/etc/sysctl.d/90-hpc.conf"

    site = described({"m1": HOST, "m2": other, "head": head})

    assert listed(site, own, "/etc/sysctl.conf") == [
        (f"m1:{own}", 4, "kernel.numa_balancing = 0"),
        (f"m2:{own}", 4, "kernel.numa_balancing = 1"),
        ("head:/etc/sysctl.conf", 2, "net.ipv4.ip_forward=1"),
    ]
    (line, *_rest) = listed(site, "/etc/sysctl.d/60-clusterwright.conf")
    assert line[2].startswith("-net.ipv4.ip_local_reserved_ports")


def test_limits_pins_units_and_firewall_are_listed_once_for_all_hosts():
    """Equal lines of several hosts are one line with their hostlist."""
    site = described({"m1": HOST, "m2": HOST})

    hosts = "m[1-2]:"
    assert listed(site, "/etc/security/limits.d/95-hpc.conf") == [
        (f"{hosts}/etc/security/limits.d/95-hpc.conf", 1, "* soft memlock unlimited"),
        (f"{hosts}/etc/security/limits.d/95-hpc.conf", 2, "* hard memlock unlimited"),
    ]
    assert (f"{hosts}/etc/apt/preferences.d/slurm", 2, "Pin: version 22.05*") in listed(
        site, "/etc/apt/preferences.d/slurm"
    )
    assert listed(site, "firewall", "/etc/nftables.conf") == [
        (f"{hosts}firewall", 1, "chain inet site input: 2 rules")
    ]
    texts = [text for _file, _line, text in listed(site, "units", "failed_units")]
    assert "/etc/systemd/system/site-tuning.service enabled" in texts
    assert "apt-daily.timer masked" in texts
    assert texts[-1] == "site-broken.service failed"


def test_folders_are_nfs_with_their_server_where_all_hosts_mount_or_export_them():
    """NFS has server, export and options of fstab; another file system is a folder that apply never mounts."""
    exporter = RecordedHost(
        mounts=MOUNTS.replace('"/data"', '"/mnt/x"'),
        fstab=FSTAB,
        exports="==> /etc/exports <==\n/srv/data *(rw)\n",
    )
    client = replace(HOST, mounts=MOUNTS, fstab=FSTAB, exports="")

    site = described({"m1": client, "m2": client, "head": exporter})

    storage = {folder.path: folder for folder in site.cluster.storage.values()}
    assert (storage["/work"].server, storage["/work"].export) == ("nas.example.org", "/export/work")
    assert storage["/work"].options == ("hard", "noatime")
    assert (storage["/data"].kind, storage["/data"].server, storage["/data"].options) == (
        "nfs",
        "head",
        ("soft",),
    )
    assert storage["/lustre"].kind == "local"
    assert listed(site, "/etc/fstab", "/etc/exports") == [
        ("head,m[1-2]:/etc/fstab", 2, "/dev/sdb1 /scratch xfs defaults,noatime"),
        ("head,m[1-2]:/etc/fstab", 5, "mgs@tcp:/fs /lustre lustre flock"),
    ]


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("nas:/var/lib/x", "rw"),
        ("nas:/", "rw"),
        ("NAS:/x", "rw"),
        ("nas:/x", "nosuchoption=1"),
        ("[fe80::1]:/x", "rw"),
    ],
)
def test_a_folder_that_no_field_can_have_is_listed_and_stays_as_it_is(source, options):
    """An export of a system folder, a server that is no host name, an option that NFS does not have."""
    mounts = (
        f'{{"filesystems": [{{"target": "/w", "source": "{source}", "fstype": "nfs", "options": "rw"}}]}}'
    )
    host = RecordedHost(mounts=mounts, fstab=f"{source} /w nfs {options} 0 0\n")

    site = described({"m1": host, "m2": host})

    assert [folder.path for folder in site.cluster.storage.values()] == ["/w"]
    assert listed(site, "/etc/fstab") == [("m[1-2]:/etc/fstab", 1, f"{source} /w nfs {options}")]


@pytest.mark.parametrize(
    "text", ["x", "==> /etc/x <==", "==> /etc/x <==\n=\n\x1b[2J\n", "a:b:c:d\n", "{\n}\n", "*\n-A\n"]
)
def test_damaged_texts_are_no_error(text):
    """A host can print anything: the file is still valid, without its control characters."""
    host = RecordedHost(**dict.fromkeys(RecordedHost.__slots__, text))

    site = described({"m1": host, "m2": HOST})

    assert site.differences == ()
    assert "\x1b" not in site.text
