"""Jobs as Slurm wrote them down: sacct's lines and slurmctld's own file of ended jobs. Pure."""
