"""The supervisor of a job and its agent on each node; standard library only."""
