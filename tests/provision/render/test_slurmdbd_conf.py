"""slurmdbd.conf, and what MariaDB is told."""

import pytest

from clusterwright.config.slurm_keys.lint import lint
from clusterwright.provision.render.mariadb_conf import SQL, database_sql, mariadb_conf
from clusterwright.provision.render.slurmdbd_conf import slurmdbd_conf
from clusterwright.provision.resources import RoleContext

HEADER = RoleContext.header()


@pytest.mark.parametrize("version", ["21.08", "22.05", "23.11", "24.11", "25.11", "26.05"])
def test_every_release_takes_every_key(cluster, version):
    """By the option tables of Slurm's own source."""
    assert lint(slurmdbd_conf(cluster, HEADER), "slurmdbd.conf", version) == ()
    assert lint("NoSuchKey=1\n", "slurmdbd.conf", version) != ()


def test_jobs_are_kept_as_long_as_the_file_says(altered):
    """A part of a day is a day."""
    text = slurmdbd_conf(altered({"accounting": {"retention": "36h"}}), HEADER)

    assert "PurgeJobAfter=2days" in text


def test_it_runs_on_the_host_that_the_file_names(cluster):
    """By name and by management address."""
    assert "DbdHost=control\nDbdAddr=10.77.0.10\n" in slurmdbd_conf(cluster, HEADER)


def test_there_is_no_password(cluster):
    """MariaDB knows the account by its socket, and listens to nothing else."""
    assert "Pass" not in slurmdbd_conf(cluster, HEADER)
    assert "unix_socket" in database_sql(HEADER)
    assert "skip-networking" in mariadb_conf(cluster, cluster.control, HEADER)


def test_the_database_is_made_again_without_harm():
    """At each start of MariaDB: every statement but the right itself says what if it is there."""
    lines = [line for line in database_sql(HEADER).splitlines() if not line.startswith("#")]

    assert all(line.startswith(("ALTER", "GRANT")) or "IF NOT EXISTS" in line for line in lines)
    assert all(line.endswith(";") for line in lines)  # init_file takes one statement a line


@pytest.mark.parametrize(
    ("memory", "pool", "log"), [("2GiB", 128, 32), ("64GiB", 4096, 1024), ("2TiB", 16384, 1024)]
)
def test_memory_of_the_database_fits_the_host(altered, memory, pool, log):
    """A sixteenth, and no more than the largest databases need; a fourth of that for the log."""
    cluster = altered({"lab": None, "nodes.control.memory": memory})
    text = mariadb_conf(cluster, cluster.control, HEADER)

    assert f"innodb_buffer_pool_size={pool}M\ninnodb_log_file_size={log}M\n" in text
    assert f"init_file={SQL}" in text


def test_an_old_mariadb_is_given_what_later_ones_have(altered):
    """10.3 of Rocky 8 loads the plugin; the group is read by that release alone."""
    new = altered({"lab": None})
    old = new.model_copy(update={"os": "rocky-8"})

    assert "[mariadb-10.3]\nplugin_load_add=auth_socket" in mariadb_conf(old, old.control, HEADER)
    assert "auth_socket" not in mariadb_conf(new, new.control, HEADER)
