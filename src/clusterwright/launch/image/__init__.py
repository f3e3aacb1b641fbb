"""Images of trainings for the versions of a cluster: their choice, the Containerfile, and the build."""
