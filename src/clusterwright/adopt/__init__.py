"""Describe a running Slurm cluster that no role of ours built: its files and hosts in, a cluster file out."""
