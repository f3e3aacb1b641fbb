#!/bin/sh
# A Slurm cluster on bare lab hosts as the quick start guide for administrators has it, typed by hand: no role and no
# file of ours. `foreign.sh SSH_CONFIG` takes the hosts slurm-ctl (10.214.0.10) and n1 to n3 of a lab that is up.
set -eu
config=$1 folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
on() { host=$1; shift; timeout 60 ssh -n -F "$config" "$host" "$@"; }
put() { timeout 60 ssh -F "$config" "$1" "cat > $2" <"$3"; }

dd if=/dev/urandom of="$folder/munge.key" bs=1 count=1024 status=none
cat >"$folder/slurm.conf" <<END
ClusterName=Physics_HPC
SlurmctldHost=slurm-ctl(10.214.0.10)
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmUser=slurm
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmdTimeout=15
SlurmdParameters=config_overrides
NodeName=n1 NodeAddr=10.214.0.11 CPUs=4 RealMemory=3000
NodeName=n2 NodeAddr=10.214.0.12 CPUs=4 RealMemory=3000
NodeName=n3 NodeAddr=10.214.0.13 CPUs=4 RealMemory=3000
PartitionName=debug Nodes=n[1-3] Default=YES MaxTime=02:00:00 State=UP
PartitionName=long Nodes=n[1-3] MaxTime=INFINITE State=UP
END
for host in slurm-ctl n1 n2 n3; do
  put "$host" /etc/munge/munge.key "$folder/munge.key"
  put "$host" /etc/slurm/slurm.conf "$folder/slurm.conf"
  on "$host" "chown munge: /etc/munge/munge.key; chmod 400 /etc/munge/munge.key; mkdir -p /home-of-all/bob
    mkdir -p /var/spool/slurmctld /var/spool/slurmd; chown slurm: /var/spool/slurmctld
    useradd --uid 7001 --no-create-home --home-dir /home-of-all/bob --shell /bin/bash bob
    chown bob: /home-of-all/bob; systemctl start munge"
done
on slurm-ctl "systemctl start slurmctld"
for host in n1 n2 n3; do on "$host" "systemctl start slurmd"; done
for _second in $(seq 30); do
  [ "$(on slurm-ctl 'sinfo -h -o %D -t idle -p debug' || true)" = 3 ] && exit 0
  sleep 1
done
echo "the nodes are not idle: $(on slurm-ctl sinfo)" >&2
exit 1
