"""The cause of a failure, with evidence."""
