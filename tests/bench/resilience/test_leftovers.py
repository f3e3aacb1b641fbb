"""The processes that the experiment on leftovers kills are found, or nothing is killed."""

import importlib.util

import pytest
from bench.resilience.leftovers import PROCESSES, _kill


@pytest.mark.parametrize("module", PROCESSES.values(), ids=PROCESSES)
def test_a_process_is_a_module_that_exists(module):
    """Processes are found by the module on their command line, so a module must have this name."""
    assert importlib.util.find_spec(module)


def test_a_process_that_is_not_found_is_not_killed():
    """Process 0 would be the own process group."""
    with pytest.raises(ProcessLookupError, match="not part of the training"):
        _kill(0)
