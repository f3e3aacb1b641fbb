"""Looks, decides, writes down, acts, and looks what came of it; again and again."""
