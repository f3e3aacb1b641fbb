"""Burn-in: hours of load, the checks sampled during it, and the verdicts."""
