"""Ports of runs (standard library only, Python 3.6 or later)."""

# Of supervisors, in-memory checkpoints, rendezvous stores and measurements: above 10,000, where services of sites are
# rarer, below Linux's ephemeral range (32768 to 60999), and apart from Slurm's daemons (6817 to 6819) and the srun
# ports of the cluster file (60001 to 63000).
RUN_PORTS = (20000, 27999)
