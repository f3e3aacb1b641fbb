"""Rules about Slurm's files, a module for each group."""
