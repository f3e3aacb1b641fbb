"""The three networks: switches, ports, cables, bisection."""
