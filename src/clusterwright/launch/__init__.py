"""A job as a script, as a run under Slurm, or as a run on this machine; and what the run says about itself."""
