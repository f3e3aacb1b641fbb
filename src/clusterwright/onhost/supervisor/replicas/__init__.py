"""In-memory checkpoints: the ranks' state in the memory of this host's agent and of a peer host's."""
