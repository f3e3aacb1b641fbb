"""Reservations: wanted rows against those of slurmctld, and the words that make them so."""

import time
from datetime import datetime, timedelta

import pytest

from clusterwright.onhost.provision import reservations
from clusterwright.onhost.provision.reservations import (
    differences,
    is_over,
    minutes_of,
    next_start,
    query_reservations,
    scontrol_arguments,
)

# As Slurm 22.05 of Debian 12 shows it.
LINE = (
    "ReservationName=demo StartTime={start} EndTime={end} Duration=08:00:00 Nodes=gpu-node1 NodeCnt=1 CoreCnt=16 "
    "Features=(null) PartitionName=(null) Flags=IGNORE_JOBS,SPEC_NODES TRES=cpu=16 Users=(null) Groups=(null) "
    "Accounts=vision Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a MaxStartDelay=(null)\n"
)
TOMORROW = (datetime.now() + timedelta(days=1)).replace(second=0, microsecond=0)
ROW = {"kind": "reservation", "name": "demo", "Nodes": "gpu-node1", "StartTime": TOMORROW.isoformat()[:16],
       "Duration": "480", "Users": "", "Accounts": "vision", "Flags": ""}  # fmt: skip


@pytest.fixture
def have(monkeypatch):
    """What slurmctld has: the reservation of the row."""
    end = TOMORROW + timedelta(hours=8)
    text = LINE.format(start=TOMORROW.isoformat(), end=end.isoformat())
    done = type("Done", (), {"code": 0, "out": text})
    monkeypatch.setattr(reservations, "run", lambda *_: done)  # the real one is in the lab's tests
    return query_reservations()["demo"]


def test_a_reservation_as_wanted_has_no_differences(have):
    """Flags that follow from others do not count."""
    assert differences(ROW, have) == []


def test_each_difference_is_told_with_both_sides(have):
    """Hosts, length, for whom."""
    row = ROW | {"Nodes": "gpu-node[1-2]", "Duration": "600", "Users": "bob", "Flags": "MAINT"}

    assert differences(row, have) == [
        "Nodes gpu-node1 -> gpu-node[1-2]",
        "Duration 480 -> 600",
        "Users none -> bob",
        "Flags none -> MAINT",
    ]


def test_one_that_was_made_late_is_as_wanted():
    """It began when it was made, and ends when the file has it."""
    start = datetime.now().replace(second=0, microsecond=0) - timedelta(minutes=9)
    row = ROW | {"StartTime": start.isoformat()[:16], "Duration": "60"}
    begun, end = start + timedelta(minutes=5), start + timedelta(minutes=60)
    have = {"StartTime": begun.isoformat(), "EndTime": end.isoformat(), "Duration": "00:55:00",
            "Nodes": "gpu-node1", "Users": "(null)", "Accounts": "vision", "Flags": ""}  # fmt: skip

    assert differences(row, have) == []
    assert differences(row | {"Duration": "90"}, have) == ["Duration 55 -> 90"]


def test_a_repeated_one_moves_on_by_weeks(have):
    """The file's first day may be long past."""
    first = TOMORROW - timedelta(weeks=3)
    row = ROW | {"StartTime": first.isoformat()[:16], "Flags": "WEEKLY"}
    weekly = have | {"Flags": "WEEKLY,SPEC_NODES"}

    assert differences(row, weekly) == []
    assert differences(row, weekly | {"StartTime": (TOMORROW + timedelta(days=2)).isoformat()}) != []


def test_one_that_is_over_is_not_made():
    """Unless it comes again."""
    past = ROW | {"StartTime": "2026-01-01T08:00"}

    assert (is_over(past), is_over(ROW), is_over(past | {"Flags": "DAILY"})) == (True, False, False)


def test_a_start_that_has_passed_is_now():
    """Slurm refuses one in the past; the end stays."""
    start = datetime.now() - timedelta(minutes=30)
    made = dict(
        word.split("=", 1) for word in scontrol_arguments(ROW | {"StartTime": start.isoformat()[:16]})
    )

    assert made["StartTime"] == "now"
    assert 448 <= int(made["Duration"]) <= 450


@pytest.mark.parametrize("flag", ["DAILY", "WEEKLY"])
def test_a_repeated_one_begins_the_next_time(flag):
    """At the hour of the file, and on its day of the week."""
    first = TOMORROW - timedelta(weeks=2, hours=2)
    coming = datetime.fromisoformat(next_start(ROW | {"StartTime": first.isoformat()[:16], "Flags": flag}))

    assert coming.timestamp() > time.time()
    assert (coming.hour, coming.minute) == (first.hour, first.minute)
    assert flag == "DAILY" or coming.weekday() == first.weekday()


@pytest.mark.parametrize(("text", "minutes"), [("08:00:00", 480), ("1-00:30:00", 1470), ("00:01:00", 1)])
def test_slurms_durations_are_read(text, minutes):
    """With days or without."""
    assert minutes_of(text) == minutes
