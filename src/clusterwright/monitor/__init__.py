"""The state of the cluster: snapshots, the screen, the web page, reports, and the simulation of settings."""
