"""Programs that read runs on the control host: jobs, logs, checkpoints, progress."""
