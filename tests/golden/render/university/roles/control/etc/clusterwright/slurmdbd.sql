# made by clusterwright; edit the cluster file instead
CREATE DATABASE IF NOT EXISTS slurm_acct_db;
CREATE USER IF NOT EXISTS slurm@localhost IDENTIFIED VIA unix_socket;
ALTER USER slurm@localhost IDENTIFIED VIA unix_socket;
GRANT ALL ON slurm_acct_db.* TO slurm@localhost;
