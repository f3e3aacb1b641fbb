"""Predicted samples per second of convolutional networks and BERT on one or many GPUs."""

from clusterwright.plan.cnn.scaling import Point, scaling
from clusterwright.plan.cnn.step import Feed, Job, Step, step

__all__ = ["Feed", "Job", "Point", "Step", "scaling", "step"]
