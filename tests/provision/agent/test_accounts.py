"""Wanted rows against those that slurmdbd has."""

import pytest

from clusterwright.onhost.provision.accounts import (
    describe_changes,
    describe_key,
    differences,
    find_obsolete,
    jobs_of,
    key_of,
    rows_of,
    settings,
    strangers,
    value_of,
)

# As Slurm 22.05 of Debian 12 shows them with -nP.
ANSWERS = {
    "qos": [
        {"Name": "normal", "Priority": "0", "Flags": "", "GrpTRES": "", "MaxWall": "", "GraceTime": "00:00:00"},
        {"Name": "urgent", "Priority": "100", "Flags": "DenyOnLimit,NoReserve", "Preempt": "scavenger,polite",
         "GrpTRES": "cpu=4,gres/gpu=64", "MaxWall": "1-02:30:00", "GraceTime": "00:02:00"},
    ],
    "assoc": [
        {"Account": "root", "User": "", "Partition": "", "ParentName": "", "Fairshare": "1"},
        {"Account": "root", "User": "root", "Partition": "", "ParentName": "", "Fairshare": "1"},
        {"Account": "vision", "User": "", "Partition": "", "ParentName": "root", "Fairshare": "60",
         "GrpTRES": "gres/gpu=8", "QOS": "urgent,normal"},
        {"Account": "vision", "User": "bob", "Partition": "", "ParentName": "", "Fairshare": "1"},
        {"Account": "vision", "User": "bob", "Partition": "train", "ParentName": "", "Fairshare": "7"},
    ],
    "user": [{"User": "bob", "DefaultAccount": "vision", "AdminLevel": "None"}],
}  # fmt: skip
VISION = {"kind": "account", "name": "vision", "Parent": "root", "Fairshare": "60", "GrpTRES gres/gpu": "8"}
BOB = {"kind": "user", "name": "bob", "account": "vision", "Fairshare": "1"}


@pytest.fixture
def have():
    """What slurmdbd has."""
    return rows_of(ANSWERS)


def test_associations_of_a_partition_are_somebody_elses(have):
    """Bob has one row, not the one that was made by hand for a partition."""
    assert have["user", "bob", "vision"]["Fairshare"] == "1"


def test_a_row_as_wanted_has_no_differences(have):
    """Team and member, as they are."""
    assert [differences(row, have[key_of(row)]) for row in (VISION, BOB)] == [[], []]


def test_a_changed_limit_is_told_with_both_sides(have):
    """The words that a person reads."""
    found = differences(VISION | {"GrpTRES gres/gpu": "16"}, have["account", "vision"])

    assert (
        f"{describe_key(key_of(VISION))}: {describe_changes(found)}"
        == "team vision: GrpTRES gres/gpu 8 -> 16"
    )
    assert settings(found) == ["GrpTRES=gres/gpu=16"]


def test_a_limit_that_leaves_the_file_is_taken_away(have):
    """-1 is Slurm's word for none; of a list it is an empty one."""
    found = differences(VISION | {"GrpTRES gres/gpu": ""}, have["account", "vision"])
    listed = differences({"kind": "qos", "name": "urgent", "Preempt": ""}, have["qos", "urgent"])

    assert settings(found) == ["GrpTRES=gres/gpu=-1"]
    assert settings(listed) == ["Preempt="]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("Preempt", "polite,scavenger"),
        ("GraceTime", "120"),
        ("MaxWall", str(26 * 60 + 30)),
        ("GrpTRES gres/gpu", "64"),
        ("GrpTRES billing", ""),
        ("MaxJobsPerUser", ""),
    ],
)
def test_values_are_read_in_the_form_of_wanted_rows(have, setting, value):
    """Lists in order, seconds and minutes as a number, one TRES of many."""
    assert value_of(have["qos", "urgent"], setting) == value


def test_other_flags_and_limits_of_a_row_stay(have):
    """NoReserve and the CPUs were set by hand."""
    row = {"kind": "qos", "name": "urgent", "Flags": "DenyOnLimit", "GrpTRES gres/gpu": "64"}

    assert differences(row, have["qos", "urgent"]) == []


@pytest.mark.parametrize(
    ("now", "wanted", "number"),
    [
        ("None", "None", 0),
        ("Operator", "None", 0),
        ("Administrator", "None", 1),
        ("None", "Administrator", 1),
    ],
)
def test_only_administrators_are_made_and_unmade(now, wanted, number):
    """An operator was made by hand and stays one."""
    row = {"kind": "person", "name": "bob", "AdminLevel": wanted}

    assert len(differences(row, {"AdminLevel": now})) == number


def test_what_we_made_goes_members_first(have):
    """A team cannot go before those in it; what is not there any more is not removed again."""
    ours = [("account", "vision"), ("qos", "urgent"), ("user", "bob", "vision"), ("account", "away")]

    assert find_obsolete([], have, ours) == [
        ("user", "bob", "vision"),
        ("account", "vision"),
        ("qos", "urgent"),
    ]
    assert find_obsolete([VISION, BOB], have, ours) == [("qos", "urgent")]


def test_what_others_made_is_named(have):
    """But for slurmdbd's own root and normal."""
    assert strangers([VISION, BOB], have, []) == [
        "slurmdbd has qualities of service that are not in the cluster file: urgent. They are not changed"
    ]
    assert len(strangers([], have, [])) == 3


@pytest.mark.parametrize(
    ("key", "number"),
    [
        (("user", "bob", "vision"), 1),
        (("user", "bob", "language"), 1),
        (("account", "language"), 2),
        (("qos", "urgent"), 1),
        (("qos", "other"), 0),
    ],
)
def test_jobs_that_would_end_with_a_row_are_counted(key, number):
    """Slurm ends a job whose association is deleted."""
    jobs = [
        {"user": "bob", "account": "vision", "qos": "normal"},
        {"user": "bob", "account": "language", "qos": "urgent"},
        {"user": "dave", "account": "language", "qos": "normal"},
    ]

    assert jobs_of(key, jobs) == number


def test_unknown_jobs_keep_every_row():
    """Where squeue does not answer, a job may be there."""
    jobs = [{"user": "*", "account": "*", "qos": "*"}]

    assert all(jobs_of(key, jobs) for key in [("user", "bob", "vision"), ("account", "vision"), ("qos", "x")])
