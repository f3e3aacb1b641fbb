"""One module per family of Slurm's reasons; `@reason` names the reasons that a function explains."""
