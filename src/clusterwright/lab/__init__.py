"""A cluster of virtual hosts on this machine: real systemd, SSH and Slurm, simulated GPUs, real faults."""
