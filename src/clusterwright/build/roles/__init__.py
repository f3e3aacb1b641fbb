"""One file per role: cluster and host in, wanted resources out. Pure."""
