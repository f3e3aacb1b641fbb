"""What a cluster knows of a job or a node, as texts; each is one more source of lines for the judge."""
