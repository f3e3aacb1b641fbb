"""All side effects: ssh, Slurm, clock, files, processes; with fakes for tests."""
