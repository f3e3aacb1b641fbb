"""How the ranks of DistributedDataParallel add up their gradients, where the job file says another way than torch's."""
