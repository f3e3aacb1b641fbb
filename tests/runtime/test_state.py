"""Random states and seeds."""

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime import seeds, state
from clusterwright.runtime.checkpoints import tree

pytestmark = pytest.mark.train


def draw():
    """Something from each source, Gaussian ones too, which keep half a pair back."""
    numpy = np.random.mtrand._rand  # what np.random.rand and its like draw from
    return random.random(), random.gauss(0, 1), numpy.rand(), numpy.randn(), *torch.rand(2).tolist()


def test_what_is_drawn_after_putting_back_is_what_was_drawn_before():
    """Also after the state has been to disk."""
    seeds.plant(7)
    draw()
    taken = tree.unpack(tree.pack(state.capture()))
    first = [draw() for _ in range(3)]

    draw()
    state.restore(taken)
    assert [draw() for _ in range(3)] == first


def test_the_same_words_plant_the_same_and_others_do_not():
    """Each word counts, and so does its place."""
    drawn = {}
    for words in [(1, 0, 0), (1, 0, 1), (0, 1, 0), (1, 0, 0), (10, 0), (1, 0, 0)]:
        seeds.plant(*words)
        drawn.setdefault(words, set()).add(draw())

    assert all(len(values) == 1 for values in drawn.values())
    assert len(set.union(*drawn.values())) == len(drawn)
