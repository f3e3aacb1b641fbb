"""The benches, one file each: what it runs, how it reads the results, and the planner's expected values."""
