"""What a job says of its gradients goes together, and is what can be done."""

import pytest

from clusterwright.config.load import job_of
from clusterwright.config.reader import read
from clusterwright.errors import SpecError

JOB = "name: j\nrecipe: gpt\nnodes: 2\ngpus_per_node: 2\ntime: 30m\n"


def codes(more):
    """What is found in a job with these lines, too."""
    try:
        job_of(read(JOB + more, "job.yaml"))
    except SpecError as error:
        return [finding.code for finding in error.findings]
    return []


@pytest.mark.parametrize(
    "more",
    [
        "gradients: {compress: power, rank: 8, warm_up: 500}",
        "gradients: {compress: bf16, hierarchical: true}",
        "gradients: {compress: int8, bucket: 4MiB}",
        "outer: {every: 50}",
        "outer: {every: 1, lr: 1, momentum: 0, bits: 8, warm_up: 10}\ngradients: {bucket: 8MiB}",
    ],
)
def test_what_goes_together_is_taken(more):
    """Each way with its own settings."""
    assert codes(more) == []


@pytest.mark.parametrize(
    "more",
    [
        "gradients: {rank: 8}",
        "gradients: {compress: bf16, warm_up: 10}",
        "gradients: {compress: power, hierarchical: true}",
        "gradients: {compress: int8, hierarchical: true}",
        "gradients: {compress: fp16}\nouter: {every: 50}",
        "gradients: {hierarchical: true}\nouter: {every: 50}",
        "parallel: {shard: full}\nouter: {every: 50}",
    ],
)
def test_what_does_not_is_refused(more):
    """With one code, whose page says all of it."""
    assert codes(more) == ["gradients-mismatch"]


@pytest.mark.parametrize(
    "more",
    [
        "outer: {every: 0}", "outer: {every: 5, lr: 0}", "outer: {every: 5, lr: 11}", "outer: {every: 5, momentum: 1}",
        "outer: {every: 5, bits: 4}", "outer: {lr: 0.7}", "gradients: {compress: power, rank: 0}",
        "gradients: {compress: power, warm_up: 0}", "gradients: {compress: int4}",
    ],
)  # fmt: skip
def test_numbers_out_of_range_are_refused(more):
    """By the field's own bounds."""
    assert len(codes(more)) == 1
