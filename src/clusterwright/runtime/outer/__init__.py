"""Ranks that step by themselves and meet now and then, as in DiLoCo."""
