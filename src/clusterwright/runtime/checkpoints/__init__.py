"""Checkpoints: saved behind the training, whole or not at all, verified when read."""
