"""Each behaviour that changed, on both sides of the release that changed it."""

import pytest

from clusterwright.platforms import platform
from clusterwright.provision.render import slurm_releases as changed


@pytest.mark.parametrize(
    ("behaviour", "of", "expected"),
    [
        (lambda of: changed.prolog_timeouts(of, 60, 300), "24.11", {"PrologEpilogTimeout": 300}),
        (lambda of: changed.prolog_timeouts(of, 60, 300), "25.05", {"PrologTimeout": 60, "EpilogTimeout": 300}),
        (changed.prolog_flags, "21.08", "Alloc"),
        (changed.prolog_flags, "22.05", "Alloc,DeferBatch"),
        (lambda of: changed.health_timeout(of, 60), "25.11", {}),
        (lambda of: changed.health_timeout(of, 60), "26.05", {"HealthCheckTimeout": 60}),
        (changed.suspend_states, "22.05", ""),
        (changed.suspend_states, "23.02", "DOWN,DRAIN,FAIL,MAINTENANCE"),
        (changed.youngest_first, "22.05", ("SchedulerParameters", "preempt_youngest_first")),
        (changed.youngest_first, "23.02", ("PreemptParameters", "youngest_first")),
        (changed.rate_limit, "22.05", ()),
        (changed.rate_limit, "23.02", ("rl_enable",)),
        (lambda of: changed.tree_width(of, 16), "22.05", ""),
        (lambda of: changed.tree_width(of, 17), "22.05", "16"),
        (lambda of: changed.tree_width(of, 4096), "23.11", ""),
        (changed.switch_as_rank, "22.05", False),
        (changed.switch_as_rank, "23.02", True),
        (changed.topology_file, "24.11", "topology.conf"),
        (changed.topology_file, "25.05", "topology.yaml"),
        (changed.block_sizes, "23.11", "BlockLevels"),
        (changed.block_sizes, "24.05", "BlockSizes"),
        (lambda of: changed.cgroup_plugin(of, "v1"), "21.08", ""),
        (lambda of: changed.cgroup_plugin(of, "v1"), "22.05", "cgroup/v1"),
        (lambda of: changed.cgroup_plugin(of, "auto"), "26.05", ""),
        (lambda of: changed.enable_controllers(of, "v2", platform("rocky-8")), "22.05", False),
        (lambda of: changed.enable_controllers(of, "v2", platform("rocky-8")), "23.02", True),
        (lambda of: changed.enable_controllers(of, "v2", platform("rocky-9")), "23.02", False),
        (changed.reconfigures_by_new_process, "23.02", False),
        (changed.reconfigures_by_new_process, "23.11", True),
    ],
)  # fmt: skip
def test_a_behaviour_that_changed(behaviour, of, expected):
    """The last release of the old way, and the first of the new one."""
    assert behaviour(of) == expected
