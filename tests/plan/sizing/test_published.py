"""Sizes against runs that were published; wide, since stacks differ by years."""

import pytest

from clusterwright.catalog import architecture, gpu
from clusterwright.plan.machines import machine
from clusterwright.plan.run import Training
from clusterwright.plan.sizing.fewest import Assumptions, least_s, searched, sized
from clusterwright.plan.sizing.workload import Workload


@pytest.mark.parametrize(
    ("model", "seq", "batch", "tokens", "where", "days"),
    [
        # Narayanan et al. 2104.04473, 5.1: 300 B tokens on 1,024 A100 in 34 days, with the code of 2021
        ("gpt3-175b", 2048, 1536, 300e9, ("a100-sxm-80gb", 1024), 34),
        # TinyLlama README: 24,000 tokens/s on each of 16 A100-40G, 3 T tokens in 90 days
        ("tinyllama-1.1b", 2048, 1024, 3e12, ("a100-sxm-40gb", 16), 90),
    ],
)  # fmt: skip
def test_a_published_run_takes_at_most_as_long_as_it_took(model, seq, batch, tokens, where, days):
    """Today's best layout is no slower than theirs was, and not below what matrix products alone would take."""
    card, count = gpu(where[0]), where[1]
    work = Workload(Training(architecture(model), seq, batch), tokens / seq)

    found = sized(work, machine(card, count), Assumptions(searched, machine)).hours * 3600
    assert least_s(work, card, count) < found < 1.1 * days * 86400
