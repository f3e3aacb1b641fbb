"""All access to the world outside the program: ssh, Slurm, clock, files, processes; with fakes for tests."""
