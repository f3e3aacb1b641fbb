"""MariaDB's configuration: it serves only slurmdbd, on the same host."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.units import MiB

DATABASE, USER = "slurm_acct_db", "slurm"
SQL = "/etc/clusterwright/slurmdbd.sql"

# Slurm's accounting page: 5 to 50 % of the memory, larger log files than the default, 900 s for a lock. 16 GiB and a
# log of 1 GiB hold the databases of even large sites (1 to 2 kB for each job).
_SHARE, _LEAST_MIB, _MOST_MIB, _MOST_LOG_MIB = 16, 128, 16 * 1024, 1024
_LAB_POOL_MIB, _LAB_LOG_MIB = (
    128,
    4,
)  # a lab host declares more memory than it has; the log size is that of its image


def mariadb_conf(cluster: Cluster, host: Host, header: str) -> str:
    """Return the text of MariaDB's settings for slurmdbd; buffers are a sixteenth of the host's memory, small in a lab.

    Their file sorts after the distribution's files.
    """
    pool = max(_LEAST_MIB, min(_MOST_MIB, host.group.memory // MiB // _SHARE))
    log = min(_MOST_LOG_MIB, pool // 4)
    if cluster.lab:
        pool, log = _LAB_POOL_MIB, _LAB_LOG_MIB
    return f"""{header}[mysqld]
# Only slurmdbd connects, by the socket of this host.
skip-networking

# A sixteenth of the memory for tables; the other two follow Slurm's accounting page.
innodb_buffer_pool_size={pool}M
innodb_log_file_size={log}M
innodb_lock_wait_timeout=900

# Creates the database and its user at every start if they are missing.
init_file={SQL}
{_SOCKET_PLUGIN if cluster.platform.mariadb_needs_socket_plugin else ""}"""


_SOCKET_PLUGIN = """
# MariaDB 10.3 needs this plugin for socket authentication; later releases have it built in.
[mariadb-10.3]
plugin_load_add=auth_socket
"""


def database_sql(header: str) -> str:
    """Return the SQL that creates slurmdbd's database and user, one statement a line; safe to run again."""
    return f"""{header}CREATE DATABASE IF NOT EXISTS {DATABASE};
CREATE USER IF NOT EXISTS {USER}@localhost IDENTIFIED VIA unix_socket;
ALTER USER {USER}@localhost IDENTIFIED VIA unix_socket;
GRANT ALL ON {DATABASE}.* TO {USER}@localhost;
"""
