"""Local disks: only empty ones are taken, and what holds anything is named."""

import json
import os
import shutil
import subprocess

import pytest

from clusterwright.onhost.lib.processes import Result
from clusterwright.onhost.provision.host import ChangeError, LocalHost
from clusterwright.onhost.provision.storage import disks

TB = 10**12
LVM = "# offset,uuid,label,type\n0x218,,,LVM2_member\n"  # wipefs 2.38
WANTED = {
    "label": "cw-scratch", "group": "a100", "type": "nvme", "count": 2, "size": TB, "raid": "0",
    "filesystem": "xfs", "quota": False,
}  # fmt: skip


def row(name, **other):
    """A line of `lsblk --json --bytes`, as util-linux 2.38 writes it."""
    plain = {"name": name, "type": "disk", "size": TB, "rota": False, "ro": False, "fstype": None, "label": None,
             "mountpoint": None}  # fmt: skip
    return plain | other


@pytest.fixture
def machine(monkeypatch):
    """`machine(rows, signatures)`: what lsblk, wipefs and the disks' own ends say; commands are kept."""

    def make(rows, signatures=None, data=(), label=""):
        ran = []

        def must(argv, _limit=0):
            if argv[0] == "lsblk":
                return json.dumps({"blockdevices": rows})
            if argv[0] == "wipefs":
                return (signatures or {}).get(argv[-1], "")
            ran.append(argv)
            return ""

        monkeypatch.setattr(disks, "must", must)

        def run(argv, _limit=0):
            if argv[0] != "blkid":
                ran.append(argv)
            return Result(0 if argv[-1] == label else 2, "", "")

        monkeypatch.setattr(disks, "run", run)
        monkeypatch.setattr(disks, "is_zero", lambda device: device not in data)
        return ran

    return make


def host():
    """A host of which nothing is asked."""
    return LocalHost({"root": "", "resources": []})


def test_empty_disks_of_the_kind_and_size_are_taken(machine):
    """The first of them by name; another size, a turning disk and a partitioned one are not."""
    machine([
        row("sda", rota=True), row("nvme0n1", children=[row("nvme0n1p1", type="part", fstype="ext4")]),
        row("nvme1n1"), row("nvme2n1", size=2 * TB), row("nvme3n1", size=int(0.96 * TB)), row("nvme4n1"),
    ])  # fmt: skip

    assert disks.plan_disks(host(), WANTED)["summary"] == "make xfs cw-scratch on RAID 0 of nvme1n1, nvme3n1"


def test_a_file_system_that_is_there_is_left_alone(machine):
    """Found by its label, also on an array."""
    array = row("md127", type="raid0", label="cw-scratch", fstype="xfs", mountpoint="/scratch")
    machine([row("nvme1n1", fstype="linux_raid_member", children=[array])], label="cw-scratch")

    assert disks.plan_disks(host(), WANTED) is None


@pytest.mark.parametrize(
    ("full", "signatures", "data", "words"),
    [
        (row("nvme2n1", fstype="ext4", label="data"), {}, (), "nvme2n1 holds ext4 data"),
        (row("nvme2n1", children=[row("p", type="part", fstype="ntfs")]), {}, (), r"nvme2n1 holds p \(ntfs\)"),
        (row("nvme2n1", mountpoint="/old"), {}, (), "nvme2n1 holds the file system mounted on /old"),
        (row("nvme2n1", ro=True), {}, (), "read-only"),
        (row("nvme2n1"), {"/dev/nvme2n1": LVM}, (), "signatures: LVM2_member"),
        (row("nvme2n1"), {}, ("/dev/nvme2n1",), "data without a signature"),
    ],
)  # fmt: skip
def test_a_disk_that_holds_anything_is_named_and_never_touched(machine, full, signatures, data, words):
    """With what would make it free; it is the host's own trouble."""
    ran = machine([row("nvme1n1"), full], signatures, data)
    with pytest.raises(ChangeError, match=words) as why:
        disks.plan_disks(host(), WANTED)

    assert "1 of 2 are empty" in str(why.value)
    assert "wipefs --all /dev/nvme2n1" in str(why.value)
    assert (ran, why.value.fault_domain) == ([], "host")


def test_disks_that_are_not_there_are_counted(machine):
    """Nothing to wipe: one is missing."""
    machine([row("nvme1n1")])
    with pytest.raises(ChangeError, match=r"needs empty disks of kind nvme and 1 TB: 2 .* a disk is missing"):
        disks.plan_disks(host(), WANTED)


def test_two_rows_of_the_file_never_take_the_same_disk(machine):
    """They are looked at before either is made."""
    machine([row("nvme1n1"), row("nvme2n1"), row("nvme3n1")])
    one = host()
    first = disks.plan_disks(one, WANTED)
    second = disks.plan_disks(one, WANTED | {"label": "cw-data", "count": 1, "raid": "none"})

    assert first["summary"].endswith("nvme1n1, nvme2n1")
    assert second["summary"] == "make xfs cw-data on nvme3n1"


def test_an_array_is_made_and_then_its_file_system(machine):
    """Of mdadm's words none forces anything; any home host keeps its name across boots."""
    ran = machine([row(f"nvme{number}n1") for number in range(4)])
    disks.do_disks(host(), WANTED | {"count": 4, "raid": "10", "filesystem": "ext4", "quota": True})

    assert " ".join(ran[0]) == (
        "mdadm --create /dev/md/cw-scratch --run --level=10 --raid-devices=4 --metadata=1.2 --homehost=any "
        "--name=cw-scratch /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1"
    )
    assert " ".join(ran[1]) == (
        "mkfs.ext4 -q -m 0 -L cw-scratch -O quota -E quotatype=usrquota:grpquota /dev/md/cw-scratch"
    )


def test_an_array_whose_file_system_fails_is_taken_apart(machine, monkeypatch):
    """Or the next apply would find disks that hold something."""
    ran = machine([row("nvme1n1"), row("nvme2n1")])
    make = disks.must

    def must(argv, limit=0):
        if argv[0] == "mkfs.xfs":
            raise ChangeError("mkfs.xfs ended with 1")
        return make(argv, limit)

    monkeypatch.setattr(disks, "must", must)
    with pytest.raises(ChangeError, match=r"mkfs\.xfs"):
        disks.do_disks(host(), WANTED)

    assert ["mdadm", "--zero-superblock", "/dev/nvme1n1", "/dev/nvme2n1"] in ran


CAN = os.geteuid() == 0 and os.path.exists("/dev/loop-control") and shutil.which("mkfs.xfs")


@pytest.fixture
def loop(tmp_path):
    """A loop device of a size of its own."""
    image = tmp_path / "disk.img"
    with image.open("wb") as file:
        file.truncate(361 * 2**20 + os.getpid() % 1000 * 4096)
    said = subprocess.run(
        ["losetup", "--find", "--show", str(image)], capture_output=True, text=True, check=True
    )
    device = said.stdout.strip()
    yield device, image.stat().st_size
    subprocess.run(["umount", str(tmp_path / "mnt")], check=False, capture_output=True)
    subprocess.run(["losetup", "--detach", device], check=True)


@pytest.mark.lab
@pytest.mark.skipif(not CAN, reason="needs root, loop devices and mkfs.xfs (apt-get install xfsprogs)")
@pytest.mark.parametrize("filesystem", ["xfs", "ext4"])
def test_a_real_disk_is_made_once_and_mounted(loop, tmp_path, filesystem, monkeypatch):
    """By the real lsblk, wipefs and mkfs; a second look changes nothing, and another label finds it full."""
    device, size = loop
    monkeypatch.setattr(disks, "SIZE_TOLERANCE", 0.0001)  # other loop devices of this machine are not ours
    wanted = WANTED | {"type": "loop", "count": 1, "size": size, "raid": "none", "filesystem": filesystem,
                       "label": f"cw{filesystem}{os.getpid()}"[:12]}  # fmt: skip

    assert device.rpartition("/")[2] in disks.plan_disks(host(), wanted)["summary"]
    disks.do_disks(host(), wanted)
    (tmp_path / "mnt").mkdir()
    subprocess.run(["mount", "-o", "noatime", device, str(tmp_path / "mnt")], check=True)

    assert disks.plan_disks(host(), wanted) is None
    with pytest.raises(
        ChangeError, match=f"{device.rpartition('/')[2]} holds the file system mounted on {tmp_path}"
    ):
        disks.plan_disks(host(), wanted | {"label": "other"})


@pytest.mark.lab
@pytest.mark.skipif(not CAN, reason="needs root, loop devices and mkfs.xfs (apt-get install xfsprogs)")
def test_a_real_disk_with_data_is_refused(loop, monkeypatch):
    """A signature, and bytes without one."""
    device, size = loop
    monkeypatch.setattr(disks, "SIZE_TOLERANCE", 0.0001)
    wanted = WANTED | {"type": "loop", "count": 1, "size": size, "raid": "none"}
    with open(device, "r+b") as disk:
        disk.seek(5000)
        disk.write(b"someone's")
    with pytest.raises(ChangeError, match="data without a signature"):
        disks.do_disks(host(), wanted)
    subprocess.run(["mkswap", device], check=True, capture_output=True)
    with pytest.raises(ChangeError, match="swap"):
        disks.do_disks(host(), wanted)
