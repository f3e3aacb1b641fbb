"""The collectors of the control host alone: of Slurm, its accounting, and the runs."""
