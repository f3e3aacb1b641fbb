"""Stand-ins for NVIDIA's packages, in a signed repository that the lab serves to its hosts."""
