"""The benches: one file each, what it runs, what it reads from it, and what the planner expects of it."""
