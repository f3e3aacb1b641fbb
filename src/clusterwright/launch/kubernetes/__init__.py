"""A training for the other scheduler: manifests for Kubernetes from the same two files. Pure; talks to no server."""
