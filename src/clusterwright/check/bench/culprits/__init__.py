"""Find the host, link or switch that makes a group slow, in few rounds."""
