"""The file's reservations as rows of slurmctld's."""

import pytest

from clusterwright.provision.render.reservations import reservation_rows

ONE = {"hosts": "gpu-node[2,1]", "start": "2027-01-15T08:00", "duration": "8h"}


@pytest.fixture
def row(altered):
    """The only row of a file with this reservation."""
    return lambda one: reservation_rows(altered({"reservations": {"demo": ONE | one}}))[0]


def test_a_teams_reservation_is_its_accounts(row):
    """Hosts in Slurm's order, so that they can be compared."""
    assert row({"teams": ["vision"]}) == {
        "kind": "reservation", "name": "demo", "Nodes": "gpu-node[1-2]", "StartTime": "2027-01-15T08:00",
        "Duration": "480", "Users": "", "Accounts": "vision", "Flags": "",
    }  # fmt: skip


def test_teams_and_users_are_either(row):
    """Slurm would let in only who is of both: so teams are told as their members."""
    found = row({"teams": ["vision"], "users": ["alice"]})

    assert (found["Users"], found["Accounts"]) == ("alice,bob", "")


@pytest.mark.parametrize(
    ("one", "flags"),
    [({"maintenance": True}, "MAINT"), ({"repeat": "weekdays", "maintenance": True}, "MAINT,WEEKDAY")],
)
def test_maintenance_is_in_nobodys_favour(row, one, flags):
    """Slurm wants somebody: root."""
    assert (row(one)["Users"], row(one)["Flags"]) == ("root", flags)
