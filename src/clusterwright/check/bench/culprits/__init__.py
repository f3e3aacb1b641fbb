"""Which host, link or switch makes a group slow, in few rounds."""
