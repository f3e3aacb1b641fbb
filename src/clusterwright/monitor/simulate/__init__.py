"""Replay a trace of jobs through a model of Slurm, to compare settings by utilization, waits and fairness. Pure."""
