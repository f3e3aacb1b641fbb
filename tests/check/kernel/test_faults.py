"""Faults in the kernel's log, what is harmless, and what nobody has explained."""

import re
import tomllib
from pathlib import Path

import pytest

from clusterwright.check.kernel.faults import faults, find_faults, harmless_lines, telling, unknown_kinds
from clusterwright.check.kernel.lines import KernelLine

LINES = tomllib.loads((Path(__file__).parent / "lines.toml").read_text())


def at(text, time_s=0.0, priority=4):
    """A line that warns."""
    return KernelLine(time_s, priority, text)


@pytest.mark.parametrize("row", LINES["fault"], ids=lambda row: row["text"][:50])
def test_a_line_is_the_fault_that_it_is(row):
    """From public threads and kernel sources, and other lines of the same kind; with the part that it names."""
    least = next(each.least for each in faults() if each.name == row["name"])

    (found,) = find_faults([at(row["text"])] * least, 0)

    assert (found.fault.name, found.part) == (row["name"], row.get("part", ""))


@pytest.mark.parametrize(
    "line",
    ["tmpfs: Unknown parameter '{}'", "tmpfs: Unknown parameter 'x' {}'", 'overlayfs: unrecognized mount option "{}"',
     "cgroup: fork rejected by pids controller in /{}", "xfs filesystem being remounted at /tmp/{} supports",
     "IPv6: ADDRCONF(NETDEV_CHANGE): {}: link becomes ready", "dummy {}: renamed from veth0"],
)  # fmt: skip
def test_a_text_that_a_user_puts_into_a_line_of_the_kernel_drains_no_host(line):
    """Anybody can mount and create network devices in a user namespace."""
    fatal = {each.name for each in faults() if each.severity == "fail"}
    texts = [row["text"] for row in LINES["fault"] if row["name"] in fatal]
    texts += ["Oops", "Kernel panic", "soft_lockup", "Kernel panic - not syncing: x"]

    lines = [at(line.format(text)) for text in texts]
    assert [each for each in find_faults(lines * 4, 0) if each.fault.severity == "fail"] == []


def test_the_name_of_a_network_device_is_no_fault():
    """It may begin a message."""
    names = ("Oops", "nvme0", "raid", "mlx5_core", "EDAC", "XFS", "Kernel", "AER")
    lines = [
        at(f"{name}: {text}") for name in names for text in ("renamed from veth0", "entered promiscuous mode")
    ]

    assert find_faults(lines * 4, 0) == ()


def test_every_fault_has_a_line():
    """A pattern without a line that it has to match is a guess."""
    assert {row["name"] for row in LINES["fault"]} == {each.name for each in faults()}


@pytest.mark.parametrize("text", LINES["harmless"]["lines"])
def test_a_harmless_line_is_no_finding(text):
    """Neither a fault nor unknown."""
    assert [each for each in find_faults([at(text)], 0) if each.fault.severity != "none"] == []
    assert unknown_kinds([at(text)]) == {}


@pytest.mark.parametrize("text", LINES["unknown"]["lines"])
def test_a_line_that_nobody_has_explained_is_told(text):
    """Once for each kind, whatever its numbers are."""
    other = re.sub(r"\d", "7", text)

    found = unknown_kinds([at(text), at(other), at(text, priority=6)])

    assert list(found.values()) == [(2, text)]


def test_a_few_corrected_errors_are_no_fault():
    """Single bits flip in sound memory; it is the number of them that counts."""
    line = "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0"

    assert find_faults([at(line)] * 4, 0) == ()
    assert find_faults([at(line)] * 5, 0)[0].times == 5


@pytest.mark.parametrize(
    ("name", "hours", "holds"), [("nfs-server-silent", 2, False), ("raid-failed", 99, True)]
)
def test_a_fault_is_over_after_its_time(name, hours, holds):
    """A server that was silent in the night is no fault in the morning; a lost disk is."""
    text = next(row["text"] for row in LINES["fault"] if row["name"] == name)

    assert bool(find_faults([at(text)], hours * 3600)) is holds


def test_a_host_sends_every_line_that_counts():
    """What is told at a priority below a warning is asked for by the same patterns."""
    asked = re.compile("|".join(f"(?:{each})" for each in telling()))

    assert all(asked.search(row["text"]) for row in LINES["fault"])
    assert asked.search("NVRM: Xid (PCI:0000:61:00): 79")
    assert all(row.reason for row in harmless_lines())


@pytest.mark.parametrize(
    "text",
    [
        "tmpfs: Unknown parameter 'INFO: task x blocked for more than 120 seconds'",
        "tmpfs: Unknown parameter 'Out of memory: Killed process'",
        "cgroup2: Unknown parameter 'mlx5_core poll_health Fatal error'",
        "fuse: Unknown parameter 'eth0: NIC Link is Down'",
        "fuse: Unknown parameter 'eth0 eth0: Link down'",
        "overlayfs: failed to resolve '/x nfs: server a not responding': -2",
        "overlayfs: failed to resolve '/x LNetError': -2",
        "x[4711]: segfault at 0 ip 00007f sp 00007f error 6 in AER: Corrected error[11bf,4000+1000]",
        "EDAC MC0: 1 CE[4711]: segfault at 0 ip 00007f sp 00007f error 6 in y[11bf,4000+1000]",
        "mlx5_core a: b[4711]: segfault at 0 ip 00007f sp 00007f error 6 in poll_health[11bf,4000+1000]",
        "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
    ],
)
def test_texts_of_users_are_no_warnings(text):
    """Options of a mount in a user namespace, names of files and of processes that crash, a job at its own limit."""
    assert [found for found in find_faults([at(text)] * 30, 0) if found.fault.severity != "none"] == []


@pytest.mark.parametrize(
    ("text", "name", "part"),
    [
        ("ixgbe 0000:03:00.0 eth0: NIC Link is Down", "link-flaps", "eth0"),
        ("igb 0000:01:00.0 eno1: igb: eno1 NIC Link is Down", "link-flaps", "eno1"),
        ("tg3 0000:02:00.0 eth1: Link is Down", "link-flaps", "eth1"),
        ("mlx5_core 0000:3b:00.0 ens1np0: Link down", "link-flaps", "ens1np0"),
        ("mlx5_core 0000:3b:00.0: Port module event[error]: module 0, Cable error", "nic-cable", ""),
        ("pcieport 0000:00:01.0: AER: Multiple Corrected error received: id=0008", "pcie-correctable", ""),
        ("mce: CPU0: Package temperature above threshold, cpu clock throttled", "cpu-too-hot", ""),
        ("CPU3: Core temperature above threshold, cpu clock is throttled", "cpu-too-hot", ""),
        ("EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0", "memory-correctable", ""),
        ("mce: [Hardware Error]: Machine check events logged", "memory-correctable", ""),
        ("INFO: task kworker/2:1:99 blocked for more than 120 seconds.", "task-hung", "kworker/2:1:99"),
    ],
)
def test_messages_of_drivers_with_their_prefixes_are_warnings(text, name, part):
    """Driver, PCI address and device come before the message; the device is the part."""
    (found,) = find_faults([at(text)] * 30, 0)
    assert (found.fault.name, found.part) == (name, part)
