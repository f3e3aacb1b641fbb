"""Ranks that hang: what they show, how long a standstill may last, and the proof."""
