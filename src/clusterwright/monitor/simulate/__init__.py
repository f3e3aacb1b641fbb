"""A trace of jobs through a stated model of Slurm: what a setting does to utilisation, waiting and fairness. Pure."""
