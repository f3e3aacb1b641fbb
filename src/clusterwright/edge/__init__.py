"""Where side effects start: ssh, Slurm, clock, files, processes; their fakes ship here."""
