"""Parse job records: sacct's output and slurmctld's job completion log. Pure."""
