"""Submit jobs to Slurm, run them on this machine, or write their script; read the logs, events and curves of runs."""
