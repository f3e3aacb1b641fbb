"""Programs on the control host that read runs: jobs, logs, checkpoints, progress."""
