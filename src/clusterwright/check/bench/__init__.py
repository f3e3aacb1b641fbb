"""Benches: measurements of a cluster, judged by declared parts and fleet, bisected to the part, and stored."""
