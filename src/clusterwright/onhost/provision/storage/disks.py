"""Local disks combined into one file system by mdadm and mkfs; only empty disks are used.

Standard library only, Python 3.6 or later. A disk with any content is reported and never changed.
"""

import json
import os
from typing import List, Optional

from clusterwright.onhost.provision.change import Verb, new_change
from clusterwright.onhost.provision.host import ChangeError, Json, LocalHost, must, run

COLUMNS = "NAME,TYPE,SIZE,ROTA,RO,FSTYPE,LABEL,MOUNTPOINT"
SIZE_TOLERANCE = 0.1  # as check/checks/disks_present: disks of one label differ by less between makers
MAKE_S = 900  # mkfs discards all blocks first, which takes a large disk minutes
EDGE = 2**20  # bytes at both ends that must be zeros: the places of tables, superblocks and their copies


def plan_disks(host: LocalHost, resource: Json) -> Optional[Json]:
    """Return the change that creates the file system on empty local disks; None if one with the label exists.

    The disks are then claimed, so that no other resource gets them.
    """
    if run(["blkid", "-c", "/dev/null", "-L", resource["label"]]).code == 0:
        return None
    claimed = host.bundle.setdefault("claimed_disks", [])
    chosen = choose(devices(), resource, claimed)
    claimed += chosen
    how = f"RAID {resource['raid']} of " if resource["raid"] != "none" else ""
    names = ", ".join(os.path.basename(path) for path in chosen)
    description = f"make {resource['filesystem']} {resource['label']} on {how}{names}"
    return new_change(description, Verb.FORMAT)


def do_disks(_host: LocalHost, resource: Json) -> None:
    """Make the planned change: the RAID array, if desired, and the file system; remove the array if mkfs fails."""
    array = "/dev/md/" + resource["label"]
    array_exists = resource["raid"] != "none" and os.path.exists(array)  # from an interrupted apply
    chosen = [] if array_exists else choose(devices(), resource, [])
    if resource["raid"] == "none":
        must(mkfs(resource, chosen[0]), MAKE_S)
    else:
        if not array_exists:
            must(create(resource, array, chosen), MAKE_S)
        try:
            must(mkfs(resource, array), MAKE_S)
        except ChangeError:
            for argv in (["mdadm", "--stop", array], ["mdadm", "--zero-superblock", *chosen]):
                run(argv)
            raise
    if os.path.exists("/run/udev/control"):  # the mount uses the label, which udev must have processed
        run(["udevadm", "trigger", "--subsystem-match=block"])
        run(["udevadm", "settle", "--timeout=30"])


def create(resource: Json, array: str, chosen: List[str]) -> List[str]:
    """Return the mdadm(8) command that creates the array; `homehost=any` keeps its name after each boot."""
    form = ["--metadata=1.2", "--homehost=any", "--name=" + resource["label"]]
    return [
        *("mdadm", "--create", array, "--run", f"--level={resource['raid']}"),
        *(f"--raid-devices={len(chosen)}", *form, *chosen),
    ]


def mkfs(resource: Json, device: str) -> List[str]:
    """Return the mkfs command without force: mkfs.xfs(8) and mkfs.ext4(8) refuse a device that has content."""
    if resource["filesystem"] == "xfs":
        return ["mkfs.xfs", "-q", "-L", resource["label"], device]
    counted = ["-O", "quota", "-E", "quotatype=usrquota:grpquota"] if resource["quota"] else []
    return ["mkfs.ext4", "-q", "-m", "0", "-L", resource["label"], *counted, device]


def choose(rows: List[Json], resource: Json, claimed: List[str]) -> List[str]:
    """Return the paths of the first empty disks of the kind and size, as many as desired.

    Raises:
        ChangeError: too few empty disks; the message lists the content of the others.
    """
    like = [row for row in rows if is_like(row, resource) and "/dev/" + row["name"] not in claimed]
    contents = {row["name"]: describe_contents(row) for row in like}
    empty = sorted(name for name, content in contents.items() if not content)
    count = resource["count"]
    if len(empty) < count:
        raise ChangeError(too_few(resource, contents, len(empty)), "host")
    return ["/dev/" + name for name in empty[:count]]


def too_few(resource: Json, contents: Json, empty: int) -> str:
    """Return the error text for too few empty disks: the disks of that kind, their content, and the fix."""
    size = f"{resource['size'] / 1e12:.3g} TB"
    message = (
        f"{resource['label']} needs empty disks of kind {resource['type']} and {size}: {resource['count']} "
        f"(nodes.{resource['group']}.disks), and {empty} of {len(contents)} are empty"
    )
    full = [name for name in sorted(contents) if contents[name]]
    if not full:
        return f"{message}. Compare with `lsblk`: a disk is missing, or correct the cluster file"
    contents_text = "; ".join(f"{name} holds {contents[name]}" for name in full)
    wipe = " ".join("/dev/" + name for name in full)
    return (
        f"{message}: {contents_text}. Nothing was changed. If their content is not needed, destroy it by hand "
        f"(`wipefs --all {wipe}`, then `blkdiscard` each, or write zeros where that fails) and run apply again"
    )


def devices() -> List[Json]:
    """Return the block devices of this host with their partitions, as lsblk's JSON rows."""
    return list(json.loads(must(["lsblk", "--json", "--bytes", "-o", COLUMNS]))["blockdevices"])


def is_like(row: Json, resource: Json) -> bool:
    """Return True for a disk of the resource's kind, with its size or within SIZE_TOLERANCE of it."""
    if (
        row["type"] not in ("disk", "loop")
        or abs(int(row["size"]) - resource["size"]) > SIZE_TOLERANCE * resource["size"]
    ):
        return False
    return bool(kind_of(row) == resource["type"])


def kind_of(row: Json) -> str:
    """Return the disk's kind as in the cluster file; lsblk before 2.33 prints `rota` as text."""
    if row["type"] == "loop" or row["name"].startswith("nvme"):
        return "loop" if row["type"] == "loop" else "nvme"
    return "hdd" if str(row["rota"]) in ("True", "1") else "ssd"


def describe_contents(row: Json) -> str:
    """Return the disk's content as text, or "" for an empty disk; reads the disk itself last."""
    device = "/dev/" + row["name"]
    if row.get("mountpoint"):
        return f"the file system mounted on {row['mountpoint']}"
    if row.get("children"):
        return ", ".join(
            f"{child['name']} ({child.get('fstype') or child['type']})" for child in row["children"]
        )
    if str(row["ro"]) in ("True", "1"):
        return "read-only data"
    if row.get("fstype"):
        return " ".join([row["fstype"], row.get("label") or ""]).strip()
    signatures = must(["wipefs", "--no-act", "--parsable", device]).splitlines()
    types = [line.split(",")[-1] for line in signatures if line and not line.startswith("#")]
    if types:
        return "signatures: " + ", ".join(types)
    return "" if is_zero(device) else "data without a signature"


def is_zero(device: str) -> bool:
    """Return True if both ends of the block device are zeros."""
    with open(device, "rb") as disk:
        head = disk.read(EDGE)
        disk.seek(-EDGE, os.SEEK_END)
        return head.count(0) == len(head) and disk.read(EDGE).count(0) == len(head)
