"""Rules of a job file and the cluster it is for."""
