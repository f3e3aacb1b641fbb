"""Dumps of several ranks say who waits for whom."""

import json
import pickle
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest

from clusterwright.diagnose.flight import recorded
from clusterwright.diagnose.flight.compare import compared
from clusterwright.diagnose.flight.dump import dump
from clusterwright.diagnose.reading import of_bytes, of_text
from clusterwright.diagnose.reading.read import TimeBudget
from clusterwright.diagnose.subjects import judge_sources

GROUP = "0:default_pg"


def entry(number, name="all_reduce", sizes=((4,),), done=True, **more):
    """One collective, as torch 2.13 writes it."""
    return {
        "frames": [{"name": "step", "filename": "/home/ann/train.py", "line": 88}], "record_id": number, "pg_id": 0,
        "process_group": ("0", "default_pg"), "collective_seq_id": number, "p2p_seq_id": 0,
        "profiling_name": f"nccl:{name}", "input_sizes": [list(size) for size in sizes], "is_p2p": False,
        "state": "completed" if done else "started", "retired": done, **more,
    }  # fmt: skip


def sources(*ranks, form=pickle.dumps, of=None):
    """A dump for each rank; `None` for a rank that left none."""
    members = json.dumps(list(range(of or len(ranks))))
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": members}}
    return [
        of_bytes(f"logs/nccl-{rank}", form({"version": "2.10", "pg_config": config, "entries": entries}))
        for rank, entries in enumerate(ranks)
        if entries is not None
    ]


def lines(found):
    """What the dumps said together."""
    (one,) = recorded(found)
    assert (one.name, one.kind) == ("flight recorder", "flight")
    return one.open().read().decode().splitlines()


WAITS = [entry(1), entry(2, done=False)]


def test_the_rank_that_did_not_come_is_named():
    """With the collective that the others wait in, where, and its own last one."""
    assert lines(sources(WAITS, WAITS, [entry(1)], WAITS)) == [
        (
            f"flight: rank 2 did not join all_reduce 2 of {GROUP} at train.py:88 (step), in which 3 wait; "
            "its last one is all_reduce [[4]] 1"
        )
    ]


def test_ranks_that_called_something_else_are_named():
    """The first difference counts, not what came of it."""
    other = [entry(1), entry(2, "all_gather", done=False)]
    (line,) = lines(sources(WAITS, other, WAITS))

    assert line == (
        f"flight: ranks 1 called all_gather [[4]] 2 of {GROUP} at train.py:88 (step), "
        "others all_reduce [[4]] at train.py:88 (step)"
    )


def test_ranks_with_other_sizes_are_named():
    """Of the same collective."""
    small = [entry(1), entry(2, sizes=((3,),), done=False)]

    assert "ranks 0 called all_reduce [[3]] 2" in lines(sources(small, WAITS, WAITS))[0]


def test_where_all_came_and_none_is_done_the_network_stands():
    """Which is no rank's fault."""
    assert lines(sources(WAITS, WAITS)) == [
        f"flight: all 2 ranks are in all_reduce 2 of {GROUP} at train.py:88 (step), and none has finished it"
    ]


def test_a_rank_without_a_dump_is_missed_where_nearly_all_are_there():
    """It may have died; of half the ranks nothing is said."""
    assert lines(sources(WAITS, WAITS, None, of=3))[0].startswith(
        "flight: rank 2 left no dump, and 2 wait in"
    )
    assert lines(sources(WAITS, WAITS, of=8))[0].startswith("flight: all 2 ranks are in")


def test_ranks_that_are_done_say_nothing():
    """No source is made of them."""
    assert recorded(sources([entry(1)], [entry(1)])) == []


def test_json_dumps_say_the_same():
    """As torch's debug server gives them."""
    as_json = sources(WAITS, [entry(1)], form=lambda each: json.dumps(each).encode())

    assert lines(as_json) == lines(sources(WAITS, [entry(1)]))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80",
        b"{",
        b"[]",
        b'{"entries": 3}',
        b"step 1\nstep 2\n",
        b"\x80\x02cos\nsystem\n(S'true'\ntR.",
    ],
)
def test_what_is_only_named_like_a_dump_stays_as_it_is(data):
    """A log of a rank is read as a log."""
    (same,) = recorded([of_bytes("logs/rank_3", data)])

    assert same.open().read() == data


def test_hostile_entries_are_passed_over():
    """Of wrong kinds, and with a terminal's codes."""
    odd = [
        3,
        {},
        {"collective_seq_id": "x"},
        entry(2, "\x1b[31mall_reduce", done=False, frames=[3, {"filename": 7}]),
    ]

    assert "\x1b" not in lines(sources(odd, [entry(1)]))[0]


def test_the_answer_names_the_rank():
    """From the dumps to the diagnosis."""
    first = judge_sources([*sources(WAITS, WAITS, [entry(1)]), of_text("a.log", "step 1")])[0]

    assert (first.mode, first.subject) == ("user-code/rank-behind", {"rank": "2"})


def seconds(work):
    """Processor time."""
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


@pytest.mark.parametrize(
    "entries",
    [
        lambda rank, count: [entry(1, process_group=("", f"{rank}-{number}")) for number in range(count)],
        lambda rank, count: [entry(rank * count + number + 1) for number in range(count)],
    ],
)
def test_many_groups_and_numbers_cost_no_more_than_their_size(entries):
    """Each dump with its own: 16 times as many dumps take 16 times as long, and not 256 times."""
    few, many = (
        {rank: dump(pickle.dumps({"entries": entries(rank, 8)})) for rank in range(ranks)}
        for ranks in (100, 1600)
    )

    assert seconds(lambda: list(compared(many))) < 64 * min(
        seconds(lambda: list(compared(few))) for _ in range(3)
    )


def nested(kind, depth):
    """Opcodes that leave, in the memo, a value that contains the one before twice, again and again: 2^depth parts."""
    opcodes = {"list": (b"]q\0", b"](h%ch%ceq%c"), "tuple": (b")q\0", b"h%ch%c\x86q%c")}
    start, step = opcodes[kind]
    return start + b"".join(step % (number, number, number + 1) for number in range(depth))


@pytest.mark.parametrize("kind", ["list", "tuple"])
@pytest.mark.parametrize("field", ["input_sizes", "process_group", "profiling_name", "key"])
def test_a_value_inside_itself_again_and_again_is_not_printed_whole(kind, field):
    """Nor hashed: some hundred bytes would take all memory, or all time."""
    name = b"X" + len(field).to_bytes(4, "little") + field.encode()
    number = b"X\x11\0\0\0collective_seq_idK\x01"
    pair = b"h\x3cK\x01" if field == "key" else name + b"h\x3c"
    entries = b"X\x07\0\0\0entries](}" + number + b"s" + pair + b"se"
    data = b"\x80\x02" + nested(kind, 60) + b"}" + entries + b"s."

    assert seconds(lambda: recorded([of_bytes("nccl-0", data), of_bytes("nccl-1", data)])) < 1
    assert field == "key" or 1 in dump(data).groups[_group(dump(data))]


def _group(found):
    return next(iter(found.groups))


def test_marks_cost_no_more_than_the_size_of_a_pickle():
    """Each looked for the one before it in a copy of the whole stack."""
    data = b"\x80\x02" + b"N" * 300_000 + b"(t" * 300_000 + b"."

    assert seconds(lambda: recorded([of_bytes("nccl-0", data)])) < 5


def test_dumps_beyond_the_time_budget_are_named_and_no_rank_is_missed_for_them():
    """What is only not read is no evidence; other sources are read."""
    ticks = iter(range(1_000_000))
    budget = TimeBudget(clock=lambda: next(ticks) * 0.5)
    texts = []
    log = of_text("a.log", "step 1")
    found = recorded([*sources(WAITS, WAITS, *[[entry(1)] * 40] * 5, of=7), log], budget, texts.append)

    assert log in found
    assert not any("left no dump" in source.open().read().decode() for source in found)
    assert len(texts) == 1


RANK = """
import os, sys, time
import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _dump_fr_trace
rank, folder = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
for _ in range(3):
    dist.all_reduce(torch.ones(4))
if rank == 0:
    work = dist.all_reduce(torch.ones(4), async_op=True)
open(f"{folder}/nccl-{rank}", "wb").write(_dump_fr_trace())
open(f"{folder}/done-{rank}", "w").close()
while not all(os.path.exists(f"{folder}/done-{each}") for each in range(2)):
    time.sleep(0.01)
os._exit(0)
"""


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not here (pip install torch)")
def test_torchs_own_dumps_are_read(tmp_path):
    """Two ranks on gloo, of which one calls once more than the other."""
    (tmp_path / "rank.py").write_text(RANK)
    argv = [sys.executable, tmp_path / "rank.py"]
    environment = {"TORCH_FR_BUFFER_SIZE": "100", "PATH": "/usr/bin:/bin"}
    ranks = [subprocess.Popen([*argv, str(rank), tmp_path], env=environment) for rank in range(2)]
    assert [rank.wait(timeout=240) for rank in ranks] == [0, 0]
    dumps = [of_bytes(f"nccl-{rank}", (tmp_path / f"nccl-{rank}").read_bytes()) for rank in range(2)]

    assert lines(dumps) == [
        (
            f"flight: rank 1 did not join all_reduce 4 of {GROUP} at rank.py:11 (<module>), in which 1 wait; "
            "its last one is all_reduce [[4]] 3"
        )
    ]
