"""What a host says: one command and one parser per file."""
