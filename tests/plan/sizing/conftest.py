"""A model, GPUs and a planner whose laws are plain, for tests of the laws of sizing."""

import pytest

from clusterwright.catalog.records import Architecture, Gpu
from clusterwright.plan.prediction import Memory, Time
from clusterwright.plan.run import Layout, Machine, Training
from clusterwright.plan.sizing.fewest import Assumptions, PlannedLayout
from clusterwright.plan.sizing.workload import Workload

SMALL = Architecture("small", 24, 2048, 16, 16, 128, 8192, 32000)
GPU = Gpu("g1-80gb", {"bf16": 300e12, "fp32": 20e12}, 80e9, 2e12, 300e9, 400.0, form="SXM4", arch="Ampere")


def amdahl(training, machine):
    """Half of the peak rate, and a little that grows; no more GPUs than sequences."""
    if machine.gpus > training.global_batch:
        return None
    flops = 6 * 1.3e9 * training.seq_len * training.global_batch
    ideal = flops / (machine.gpus * machine.gpu.peak.get(training.precision, 300e12))
    time = Time(ideal, ideal, 0, 0, 0, 0, 0, 0, 0, 0.01 * machine.gpus**0.2, 0.01, 0, 0)
    memory = Memory(1e9, 1e9, 1e9, 1e9, 0, 0, 0)
    return PlannedLayout(Layout(dp=machine.gpus), time, (0.9 * time.total, 1.2 * time.total), memory)


@pytest.fixture(scope="session")
def means():
    """A planner whose times are known in closed form, nodes of eight."""
    return Assumptions(amdahl, Machine)


@pytest.fixture(scope="session")
def gpu():
    """A GPU of 300 TFLOP/s and 80 GB."""
    return GPU


@pytest.fixture(scope="session")
def work():
    """A million sequences of 2,048 tokens, in batches of 512."""
    return Workload(Training(SMALL, 2048, 512), 1_000_000)
