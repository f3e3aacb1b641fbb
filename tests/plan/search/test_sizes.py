import subprocess
import sys

import pytest

from clusterwright.catalog import architecture, gpu
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.plan.machines import machine
from clusterwright.plan.run import Training
from clusterwright.plan.search import meshes
from clusterwright.plan.search.fastest import search
from clusterwright.plan.search.options import Options

H100 = gpu("h100-sxm-80gb")


def refused(training, gpus=64, **fixed):
    """The findings of a search that cannot be."""
    with pytest.raises(WrightError) as told:
        search(training, machine(H100, gpus), options=Options(**fixed))
    assert told.value.exit_code == EXIT_USAGE
    return told.value.findings


def llama(seq=8192, batch=512):
    """LLaMA-3-70B: 64 heads, 8 key-value heads, 80 layers."""
    return Training(architecture("llama3-70b"), seq, batch)


def test_sizes_that_are_none_are_told_all_at_once():
    """Zero and negative sizes, of the work and of the groups."""
    found = refused(llama(0, -1), gpus=0, tp=-2)

    assert [one.code for one in found] == ["plan-bad-size"] * 4
    assert "--tp is -2" in "\n".join(one.message for one in found)


@pytest.mark.parametrize(
    ("fixed", "words"),
    [
        ({"tp": 16}, "8 kv heads"),
        ({"tp": 3}, "64 heads"),
        ({"pp": 7, "uneven": False}, "80 layers"),
        ({"pp": 4, "interleave": 3}, "interleave 3"),
        ({"cp": 64}, "sequence of 8192"),
        ({"dp": 64, "micro_batch": 3}, "not a multiple of dp 64 x microbatch 3"),
        ({"tp": 8, "pp": 3}, "does not divide 64 GPUs"),
    ],
)
def test_what_is_fixed_divides_what_it_cuts(fixed, words):
    """Heads, key-value heads, layers, sequence, batch, GPUs; the message has the number that is cut."""
    found = refused(llama(), **fixed)

    assert {one.code for one in found} == {"plan-indivisible"}
    assert words in "\n".join(one.message for one in found)


def test_a_product_that_divides_but_is_not_the_gpus_is_named_so():
    """With all four sizes given, the product must be the number of GPUs."""
    [finding] = refused(llama(), gpus=8, dp=2, tp=2, pp=1, cp=1)

    assert finding.code == "plan-indivisible"
    assert finding.message == "dp 2 x tp 2 x pp 1 x cp 1 is 4, and not 8 GPUs"
    assert finding.fix == "use sizes whose product is the number of GPUs, or omit dp"


def test_all_that_does_not_divide_is_told_at_once():
    """Three sizes, three findings and more."""
    found = refused(llama(8192, 100), tp=16, dp=3, micro_batch=7)
    told = "\n".join(one.message for one in found)

    assert all(words in told for words in ("kv heads", "does not divide 64 GPUs", "not a multiple"))


def test_nothing_that_divides_says_what_was_refused():
    """A batch of one on 97 GPUs, more than there are layers: no mesh."""
    found = refused(llama(8192, 1), gpus=97)

    assert [one.code for one in found] == ["plan-no-layout"]
    assert "batch" in found[0].message


def test_without_numpy_the_mend_is_the_extra(monkeypatch):
    """The search says what to install, before it begins."""
    monkeypatch.setattr(meshes, "find_spec", lambda name: None)  # stands for a Python without numpy

    assert refused(llama())[0].fix == 'pip install "clusterwright[plan]"'


def test_without_numpy_the_extra_is_named():
    """The search is the only part that needs it."""
    code = """
import importlib.machinery as machinery
find = machinery.PathFinder.find_spec
machinery.PathFinder.find_spec = classmethod(
    lambda cls, name, *rest: None if name.partition(".")[0] == "numpy" else find(name, *rest)
)
from clusterwright.cli import main
import sys
sys.argv[1:] = "plan search --model llama2-7b --seq 4096 --global-batch 64 --gpu a100-80g --gpus 8".split()
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stderr.split(":")[0]) == (EXIT_USAGE, "error[plan-needs-numpy]")
    assert 'pip install "clusterwright[plan]"' in done.stderr
