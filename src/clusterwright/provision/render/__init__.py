"""One file per rendered artefact: Cluster in, text out. Pure."""
