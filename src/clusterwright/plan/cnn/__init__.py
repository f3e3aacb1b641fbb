"""Predicted samples per second of convolutional networks and BERT on one or many GPUs."""

from clusterwright.plan.cnn.scaling import Point, scaling
from clusterwright.plan.cnn.step import CnnJob, CnnStep, Feed, step

__all__ = ["CnnJob", "CnnStep", "Feed", "Point", "scaling", "step"]
