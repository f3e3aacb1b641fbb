"""Measurements of the shared folder and of local disks."""
