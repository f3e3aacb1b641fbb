"""Time of matrix products: the rate of large ones, reduced for few tiles, short inner lengths and unaligned widths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.numbers import ceil, larger, pick

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.speed.coefficients import Rates

TILE = 128  # rows and columns of the result that one SM computes at a time (CUTLASS's usual tile)
ALIGNED = 64  # elements: rows of 128 bytes (NVIDIA, Matrix Multiplication Background, section 3)


def seconds(m: Real, n: Real, k: Real, *, rates: Rates, groups: Real = 1, half: bool = False) -> Real:
    """Return the seconds of a matrix product [m, k] x [k, n] on one GPU, `groups` of them in one kernel.

    `half`: 16-bit in any run precision.
    """
    rate = rates.matmul_16 if half else rates.matmul
    flops = 2 * m * n * k * groups
    bits = 16 if half else rates.bits
    depth = rates.depth * 16 / bits  # filling the pipeline takes as long, but narrow elements pass it faster
    compute = flops / rate * quantization(m, n, rates=rates, groups=groups) * (1 + depth / k)
    compute = compute * pick((n % ALIGNED == 0) & (k % ALIGNED == 0), 1.0, rates.unaligned)
    element = bits / 8
    moved = groups * (element * (m * k + k * n) + 2 * m * n)
    return larger(compute, moved / rates.bytes_per_s) + rates.launch


def quantization(m: Real, n: Real, *, rates: Rates, groups: Real = 1) -> Real:
    """Return the slowdown of a product of m x n outputs by tile and wave quantization, at least 1.

    `groups` products run in one kernel.
    """
    tiles = ceil(m / TILE) * ceil(n / TILE)
    ragged = tiles * TILE * TILE / (m * n)
    waves = tiles * groups / rates.processors
    return 1 + rates.wave * (ragged * ceil(waves) / waves - 1)


def backward(m: Real, n: Real, k: Real, *, rates: Rates, groups: Real = 1, half: bool = False) -> Real:
    """Return the seconds of both backward products of [m, k] x [k, n]: the input's and the weight's gradient.

    A frozen weight has only the first; the six products of its LoRA adapter take only their launch time.
    """
    by_input = seconds(m, k, n, rates=rates, groups=groups, half=half)
    if rates.trained < 1:
        return by_input + 6 * rates.launch
    return by_input + seconds(k, n, m, rates=rates, groups=groups, half=half)
