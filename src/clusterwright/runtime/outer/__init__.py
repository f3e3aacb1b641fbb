"""Outer steps as in DiLoCo: ranks train independently and synchronize every N steps."""
