"""Rules of a job file."""
