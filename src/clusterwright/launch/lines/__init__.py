"""Launch lines as they are typed: torchrun, srun, mpirun and the like, compared with the job's allocation."""
