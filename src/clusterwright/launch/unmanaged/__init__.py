"""Slurm clusters that Clusterwright did not build, as their users see them: learned from Slurm itself."""
