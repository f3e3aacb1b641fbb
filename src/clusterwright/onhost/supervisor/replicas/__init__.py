"""The ranks' state in memory that outlives them, here and on the next host."""
