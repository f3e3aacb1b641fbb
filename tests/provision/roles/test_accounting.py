"""Accounting's daemons on one host, and the records where slurmctld runs."""

import pytest

from clusterwright.provision.resources import File, Package, Records, Unit
from clusterwright.provision.roles import desired_resources


def kind(resources, of):
    """The resources of a kind, by name or path."""
    return {getattr(one, "name", getattr(one, "path", "")): one for one in resources if isinstance(one, of)}


@pytest.fixture
def two(altered):
    """Two control hosts: slurmctld on the first, accounting on the second."""
    return altered(
        {
            "nodes.control.hosts": "control[1-2]",
            "accounting": {"host": "control2"},
            "nodes.a100.addresses": {
                "management": "10.77.0.21",
                "compute": "10.77.1.21",
                "storage": "10.77.2.21",
            },
        }
    )


def test_daemons_are_on_the_accountant_alone(two, given):
    """Packages, units and files; slurmctld stays where it was."""
    first, second, compute = (
        desired_resources(two, two.host(name), given) for name in ("control1", "control2", "gpu-node1")
    )

    assert {"mariadb.service", "slurmdbd.service"} <= set(kind(second, Unit))
    assert {"mariadb-server", "slurmdbd"} <= set(kind(second, Package))
    for other in (first, compute):
        assert not {"mariadb.service", "slurmdbd.service"} & set(kind(other, Unit))
        assert "/etc/slurm/slurmdbd.conf" not in kind(other, File)


def test_slurmdbds_file_is_slurms_alone(cluster, given):
    """Any other mode or owner is fatal to it."""
    conf = kind(desired_resources(cluster, cluster.control, given), File)["/etc/slurm/slurmdbd.conf"]

    assert (conf.owner, conf.group, conf.mode) == ("slurm", "slurm", 0o600)


def test_a_database_that_does_not_come_up_holds_up_nobody(cluster, given):
    """Slurmctld goes on with what it knows."""
    units = kind(desired_resources(cluster, cluster.control, given), Unit)

    assert {"mariadb.service", "slurmdbd.service"} <= {
        name for name, unit in units.items() if unit.independent
    }


def test_records_are_changed_where_slurmctld_runs(two, given):
    """By name of the accountant; names that slurmctld needs come before it."""
    first, second = (
        kind(desired_resources(two, two.host(name), given), Records) for name in ("control1", "control2")
    )

    assert (set(first), set(second)) == ({"qos-names", "accounts", "reservations"}, set())
    assert first["accounts"].rows[0]["name"] == "control2"
    assert [one.required_by for one in first.values()] == [("slurmctld.service",), (), ()]


def test_without_accounting_there_is_nothing_of_it(altered, given):
    """No daemon, no record."""
    cluster = altered({"accounting": {"enabled": False}})
    found = desired_resources(cluster, cluster.control, given)

    assert not kind(found, Records)
    assert "slurmdbd.service" not in kind(found, Unit)


@pytest.mark.parametrize(
    ("os", "folder"), [("debian-12", "/etc/mysql/mariadb.conf.d"), ("rocky-9", "/etc/my.cnf.d")]
)
def test_names_are_the_distributions(real, given, os, folder):
    """Rocky's MariaDB reads another folder."""
    cluster = real.model_copy(update={"os": os})
    files = kind(desired_resources(cluster, cluster.control, given), File)

    assert f"{folder}/70-clusterwright.cnf" in files
