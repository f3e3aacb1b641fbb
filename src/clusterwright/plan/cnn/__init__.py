"""Samples per second of convolutional networks, and of BERT beside them, on one GPU and on many."""

from clusterwright.plan.cnn.scaling import Point, scaling
from clusterwright.plan.cnn.step import Feed, Job, Step, step

__all__ = ["Feed", "Job", "Point", "Step", "scaling", "step"]
