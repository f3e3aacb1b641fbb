# On the control host before slurmctld: the database, slurmdbd, and the qualities of service that slurm.conf names.
set -eu
chown slurm: /etc/slurm/slurmdbd.conf
chmod 600 /etc/slurm/slurmdbd.conf
systemctl start mariadb
mariadb -e "CREATE DATABASE slurm_acct_db; GRANT ALL ON slurm_acct_db.* TO slurm@localhost IDENTIFIED BY 'correct-horse'"
systemctl start slurmdbd
for _second in $(seq 60); do sacctmgr -n show cluster >/dev/null 2>&1 && break; sleep 0.5; done
sacctmgr -i add cluster many
for name in scavenger urgent gpu_limit; do sacctmgr -i add qos "$name"; done
