"""Convolutional networks: FLOPs, memory traffic, input pipeline, scaling."""
