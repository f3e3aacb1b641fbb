"""Which rank failed first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.onhost.supervisor.root_cause.first_failure import find_first_failure, line


def exited(rank, time, *, code=1, **more):
    """A rank's exit."""
    return {
        "event": "rank_exit",
        "time": time,
        "rank": rank,
        "host": f"gpu-{rank // 2 + 1}",
        "code": code,
        **more,
    }


RESET = "RuntimeError: Connection reset by peer"
KILLED = exited(3, 10.2, code=-9, signal=9, step=41)


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([KILLED], "rank 3 (gpu-2, local 1) was killed by SIGKILL at step 41"),
        ([exited(0, 10.0, message=RESET), KILLED], "rank 3 (gpu-2, local 1) was killed by SIGKILL at step 41"),
        # an unknown wording of the same: no exception kills another rank
        ([exited(0, 10.0, message="Wrapped: sad"), KILLED], "rank 3 (gpu-2, local 1) was killed by SIGKILL at step 41"),
        ([exited(0, 1.0, message="KeyError: 'x'"), KILLED], "rank 0 (gpu-1, local 0) raised KeyError: 'x'"),
        ([exited(1, 5.0, code=-15, signal=15), exited(2, 6.0, message="OSError: disk", step=7)],
         "rank 2 (gpu-2, local 0) raised OSError: disk at step 7"),
        ([exited(1, 5.0, code=3)], "rank 1 (gpu-1, local 1) exited with code 3"),
        ([exited(1, 5.0, code=-11)], "rank 1 (gpu-1, local 1) died of SIGSEGV"),
        ([exited(1, 5.0, message="exited with 'told'", cause="exit")], "rank 1 (gpu-1, local 1) exited with 'told'"),
        ([exited(1, 5.0, code=0)], ""),
        ([exited(1, 5.0, message=RESET)], f"rank 1 (gpu-1, local 1) raised {RESET}"),
        ([KILLED, {"event": "host_lost", "time": 12, "lost_host": "gpu-2", "heartbeat_age_s": 2.5}],
         "host gpu-2 was lost, no message for 2.5 s"),
        ([exited(0, 4.0, message=RESET),
          {"event": "rank_hung", "time": 5, "rank": 2, "host": "gpu-2", "seconds": 2.31, "message": "in train.py:41",
           "stacks": "logs/1/gpu-2/0.stacks"}, exited(1, 6.0, code=-9)],
         "rank 2 (gpu-2, local 0) hung, no progress for 2.3 s: in train.py:41 (stacks: logs/1/gpu-2/0.stacks)"),
        ([], ""),
    ],
)  # fmt: skip
def test_the_one_line(events, said):
    """Signals and the earliest before consequences, and a lost host before all."""
    assert line(events, ranks=2) == said


EXITS = st.lists(
    st.builds(
        exited, st.integers(0, 7), st.floats(0, 100), code=st.sampled_from((0, 1, -9, -15, 137)),
        message=st.sampled_from(("", RESET, "ValueError: x")),
    )
)  # fmt: skip


@given(EXITS, st.randoms())
def test_the_order_of_the_lines_does_not_matter(events, chance):
    """Events of several hosts are read in any order."""
    shuffled = list(events)
    chance.shuffle(shuffled)
    chosen, again = find_first_failure(events), find_first_failure(shuffled)

    assert (chosen is None) == all(event["code"] == 0 for event in events)
    assert chosen is None or chosen["time"] == again["time"]
