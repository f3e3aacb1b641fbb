"""What ought to be: one expectation per file."""
