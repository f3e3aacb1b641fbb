"""What several lines tell together, and none alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.diagnose.judge import judge
from clusterwright.diagnose.judge.counting import absent, of_collectives
from clusterwright.diagnose.judge.sighting import Position, Sighting
from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.reading import of_text, read

KNOWN = knowledge()
WATCHDOG = KNOWN["network-connectivity/watchdog-timeout"]
XID = "NVRM: Xid (PCI:0000:{gpu}:00): 31, pid={pid}, name=python, Ch 00000008, MMU Fault: ENGINE GRAPHICS"
WAIT = (
    "[rank{rank}]:[E101] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={number}, "
    "OpType={what}, NumelIn={size}, NumelOut={size}, Timeout(ms)=600000) ran for 600020 milliseconds before timing out."
)


def told(*lines, kind="log"):
    """The diagnoses of lines."""
    return judge(read([of_text("a.log", "\n".join(lines), kind=kind)], KNOWN))


def wait(rank, number=808, what="ALLREDUCE", size=4):
    """What torch's watchdog says of a rank."""
    return WAIT.format(rank=rank, number=number, what=what, size=size)


def test_ranks_that_wait_in_different_collectives_went_apart():
    """The one that is alone is named, and the others are quoted beside it."""
    first = told(wait(0), wait(1), wait(2, what="ALLGATHER"), wait(3))[0]

    assert (first.mode, first.subject) == ("user-code/collectives-mismatch", {"rank": "2"})
    assert "ALLGATHER" in first.evidence[0].text
    assert any("ALLREDUCE" in line.text for line in first.evidence[1:])


@pytest.mark.parametrize("odd", [{"number": 807}, {"size": 8}])
def test_another_number_or_size_is_another_collective(odd):
    """The lower number is the rank that is behind."""
    assert told(wait(0), wait(1, **odd), wait(2))[0].subject == {"rank": "1"}


def test_ranks_that_wait_in_one_collective_did_not_go_apart():
    """Then it is the network, or who is not there."""
    first = told(*(wait(rank) for rank in range(4)))[0]

    assert (first.mode, first.subject) == ("network-connectivity/watchdog-timeout", {})


def test_the_rank_that_does_not_wait_is_named():
    """All others say that they do."""
    first = told(*(wait(rank) for rank in (0, 1, 3, 4)))[0]

    assert (first.mode, first.subject) == ("network-connectivity/watchdog-timeout", {"rank": "2"})


def test_many_kinds_of_waits_are_many_groups():
    """Tensor, pipeline and data parallel ranks wait in groups of their own, whose names old releases do not say."""
    waits = [wait(rank, number=100 + rank) for rank in range(4)]

    assert told(*waits)[0].mode == "network-connectivity/watchdog-timeout"


def test_one_fault_on_several_gpus_is_the_programs():
    """It has nothing else in common."""
    first = told(XID.format(gpu="1b", pid=11), XID.format(gpu="3d", pid=12), kind="kernel")[0]

    assert first.kind == "user-code"


def test_one_gpu_with_a_fault_in_several_processes_is_broken():
    """It fails for whoever uses it."""
    first = told(XID.format(gpu="1b", pid=11), XID.format(gpu="1b", pid=12), kind="kernel")[0]
    once = told(XID.format(gpu="1b", pid=11), kind="kernel")

    assert (first.kind, first.subject) == ("gpu-hardware", {"gpu": "0000:1b:00"})
    assert first.confidence > once[0].confidence
    assert {each.kind for each in once} == {"gpu-hardware", "user-code"}


def test_many_hosts_that_fall_silent_are_no_lost_hosts():
    """What lies between them is."""
    rows = [
        f"node{number}  1  main*  down*  12  12:1:1  64267  0  1  (null) Not responding"
        for number in range(3)
    ]

    assert told(*rows)[0].mode == "network-connectivity/slurm-nodes-unreachable"
    assert told(rows[0])[0].kind == "node-lost"


def sighting(rank, names):
    """One wait of a rank."""
    return Sighting(WATCHDOG, 0, Position("a.log", 1), "waits", rank=rank, names=names)


WAITS = st.lists(
    st.builds(
        sighting,
        st.integers(0, 9).map(str) | st.just(""),
        st.fixed_dictionaries(
            {},
            optional={
                "sequence": st.integers(0, 3).map(str), "operation": st.sampled_from(["A", "B"]),
                "size": st.integers(0, 2).map(str), "group": st.sampled_from(["", "x", "y"]),
            },
        ),
    )
)  # fmt: skip


@given(WAITS)
def test_whoever_is_named_said_something_else_than_others(waits):
    """In any mixture of lines: those that are named agree, no other rank of the finding agrees with them."""
    found = of_collectives(waits)
    if found:
        kinds = [{tuple(sorted(each.names.items())) for each in part} for part in found[1:]]
        assert not kinds[0] & kinds[1]
        assert {each.rank for each in found.sightings}.isdisjoint(each.rank for each in found.evidence)


@given(st.sets(st.integers(0, 40)))
def test_who_is_absent_is_between_those_that_are_heard(ranks):
    """One alone, or nobody."""
    missing = absent([sighting(str(rank), {}) for rank in ranks])

    assert missing == "" or (int(missing) not in ranks and int(missing) < max(ranks))
