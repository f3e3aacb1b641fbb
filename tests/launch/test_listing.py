from clusterwright.edge.slurm import NAMED_FIELDS
from clusterwright.launch.listing import rows
from clusterwright.slurm.jobs import parse_queue

QUEUE = """10|alice|PENDING|0:00|30:00|3||Dependency|gpt-20261121-131500
9|alice|RUNNING|2:58|30:00|3|gpu-node[1,3-4]|None|gpt-20261121-131500
7|bob|COMPLETED|1:00|30:00|1|gpu-node2|None|old-20261121-120000
11|bob|PENDING|0:00|30:00|1||Resources|a|name|with|bars
"""
FOLDERS = [
    {"run": "gpt-20261121-131500", "jobs": ["9"], "step": 30, "checkpoint": 25, "state": "running"},
    {
        "run": "old-20261121-120000",
        "jobs": ["7"],
        "step": 90,
        "checkpoint": 90,
        "state": "finished",
        "reason": "all",
    },
    {"run": "lost-20261121-110000", "jobs": [], "step": None, "checkpoint": None, "state": "gone"},
]


def test_queue_and_runs_are_one_list():
    """Slurm's states come first, then runs that ended."""
    by_job = {(row.job_id, row.run): row for row in rows(parse_queue(QUEUE, NAMED_FIELDS), FOLDERS)}

    assert by_job["9", "gpt-20261121-131500"].step == 30
    assert by_job["10", "gpt-20261121-131500"].reason.startswith("successor job")
    assert by_job["10", "gpt-20261121-131500"].step is None
    assert by_job["11", "a|name|with|bars"].reason == "Resources"
    assert by_job["7", "old-20261121-120000"].state == "finished"


def test_a_run_that_vanished_says_so():
    """Neither Slurm nor the run itself knows how it ended."""
    (row,) = rows((), FOLDERS[2:])

    assert (row.state, row.job_id) == ("gone", "-")
