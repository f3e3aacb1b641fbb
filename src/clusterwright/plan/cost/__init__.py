"""Owned against rented, energy, spot, goodput."""
