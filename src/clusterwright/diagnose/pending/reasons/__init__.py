"""One file per family of reasons; each says for which of Slurm's reasons it speaks (`@reason`)."""
