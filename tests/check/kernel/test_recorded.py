"""XIDs in logs as they were posted, and in other forms of the same: what is to be done about each device."""

import tomllib
from pathlib import Path

import pytest
from tests.check.kernel.log_texts import read

from clusterwright.check.kernel.events import events
from clusterwright.check.kernel.judge import judge

LOGS = tomllib.loads((Path(__file__).parent / "recorded.toml").read_text())["log"]


def found(text):
    """Device, XID and severity of each finding, at the time of the last line."""
    lines = read(text, boot_s=1_700_000_000, year=2024)
    now_s = lines[-1].time_s if lines else 0
    return [[each.pci, each.number, each.severity] for each in judge(events(lines), now_s)]


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log["name"])
def test_a_log_comes_to_what_has_to_be_done(log):
    """The same device, the same number, the same weight."""
    assert sorted(found(log["text"])) == sorted(log["finds"])
    assert log.get("other") or log["source"]


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log["name"])
def test_a_torn_log_breaks_nothing(log):
    """Cut anywhere, it is read in part, and speaks of no device that is not in it."""
    text = log["text"].strip()

    told = [each for cut in range(1, len(text), 7) for each in found(text[:cut])]

    assert all(not device or device[5:] in text.lower() for device, _number, _severity in told)


def test_a_storm_of_one_fault_is_one_event():
    """One site had 800,000 lines of 29 faults (NVIDIA/NVSentinel 1120)."""
    line = (
        "[ {at}] NVRM: Xid (PCI:0000:61:00): 119, pid=1, name=nvidia-smi, Timeout waiting for RPC from GSP!"
    )
    storm = "\n".join(line.format(at=f"{100 + 45 * step}.000000") for step in range(1000))

    (event,) = events(read(storm))

    assert (event.lines, event.first_s, event.last_s) == (1000, 100, 100 + 45 * 999)


def test_five_fatal_faults_of_a_day_go_to_the_vendor():
    """Each alone asks for a reset; the fifth says that resets do not help."""
    line = "[ {at}.0] NVRM: Xid (PCI:0000:61:00): 95, pid=1, name=x, Uncontained memory error"
    often = [line.format(at=3600 * hour) for hour in range(1, 7)]

    (few,) = judge(events(read("\n".join(often[:1]))), 3600)
    (many,) = judge(events(read("\n".join(often))), 6 * 3600)

    assert few.action == "drain the host and reset the GPU"
    assert many.times == 6
    assert many.action.endswith("it had 6 fatal errors in a day")


@pytest.mark.parametrize(("number", "hours", "holds"), [(48, 23, True), (48, 25, False), (79, 900, True)])
def test_a_fault_counts_as_long_as_it_can_be_there(number, hours, holds):
    """A day, or, for a GPU that is off the bus, until the host is booted again."""
    lines = read(f"[ 10.0] NVRM: Xid (PCI:0000:61:00): {number}, pid=1, name=x, words")

    assert bool(judge(events(lines), 10 + hours * 3600)) is holds
