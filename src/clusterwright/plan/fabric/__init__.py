"""Design of the compute, storage and management networks: switches, ports, cables, bisection."""
