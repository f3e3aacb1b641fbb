import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterwright.onhost.supervisor.hang import progress
from clusterwright.runtime import progress as runtime

SOURCE = Path(__file__).parents[4] / "src"

HEAD = "import os, sys, time\nfrom clusterwright.onhost.supervisor.hang import progress\nprogress.show(*{place!r})\n"


@pytest.fixture
def pages():
    """The pages of two ranks."""
    made = progress.Pages(2)
    yield made
    made.close()


@pytest.fixture
def rank(pages, tmp_path):
    """Runs a text as local rank 1."""
    running = []

    def start(text):
        path, _, offset = pages.variable(1)[1].rpartition(":")
        head = HEAD.format(place=(path, int(offset), str(tmp_path / "1.stacks")))
        process = subprocess.Popen(
            [sys.executable, "-u", "-c", head + text], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True,
            env={"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin"},
        )  # fmt: skip
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def until(seen, limit_s=150):
    """Wait for it."""
    end = time.monotonic() + limit_s
    while not seen():
        assert time.monotonic() < end, "not seen in time"
        time.sleep(0.02)


def test_both_sides_mean_the_same_words():
    """The runtime may not import the agent, so it says the layout again."""
    names = (
        "PAGE",
        "STEP",
        "PHASE",
        "MOVED",
        "COPIED",
        "SHIPPED",
        "REGROUP",
        "STARTING",
        "STEPPING",
        "PAUSED",
    )

    assert [getattr(progress, name) for name in names] == [getattr(runtime, name) for name in names]
    assert (progress.LIFE, progress.COLLECTIVES) == (0, 1)


def test_what_the_runtime_shows_the_agent_sees(pages):
    """Steps, phase and copies go through the file's path, as from another process."""
    name, value = pages.variable(1)
    shows = runtime.Progress({name: value})
    shows.stepped(7)
    shows.copied(6)
    pages[1][progress.SHIPPED] = 5
    pages[1][progress.REGROUP] = 1

    assert pages[1].read().step == 7
    assert pages[1].read().phase == progress.STEPPING
    assert time.monotonic() - pages[1].read().moved < 5
    assert (pages[1][progress.COPIED], shows.shipped, shows.regroup) == (6, 5, True)
    assert pages[0].read().step == 0


def test_a_pause_is_a_phase(pages):
    """Inside it is said, and afterwards what was before; a step inside does not end it too early."""
    shows = runtime.Progress(dict([pages.variable(0)]))
    shows.stepped(1)
    with shows.paused():
        assert pages[0].read().phase == progress.PAUSED

    assert pages[0].read().phase == progress.STEPPING


@pytest.mark.parametrize("value", ["", "/nowhere:0", "nonsense"])
def test_without_an_agent_nothing_is_shown_and_nothing_fails(value):
    """A script runs the same by hand."""
    shows = runtime.Progress({"CLUSTERWRIGHT_PROGRESS": value})
    shows.stepped(3)

    assert shows.shipped == 0


def test_a_rank_shows_that_it_lives(rank, pages):
    """Ten times a second, whatever its script does; it is woken for that and for nothing else."""
    woken = "resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw"
    process = rank(
        f"import resource; begun, before = time.monotonic(), {woken}; time.sleep(4);"
        f"print(({woken} - before) / (time.monotonic() - begun))"
    )
    until(lambda: pages[1].read().life)
    first = pages[1].read().life
    until(lambda: pages[1].read().life > first + 0.3)

    until(lambda: time.monotonic() - pages[1].read().life < 1)
    assert float(process.stdout.readline()) < 2 / progress.EVERY_S


def test_a_rank_that_holds_the_interpreter_shows_no_life(rank, pages):
    """A regular expression that never ends lets no other thread run."""
    rank("import re; time.sleep(1); re.match('(a+)+$', 'a' * 40 + 'b')")
    until(lambda: pages[1].read().life)
    until(lambda: time.monotonic() - pages[1].read().life > 1)

    seen = pages[1].read().life
    time.sleep(0.5)
    assert pages[1].read().life == seen


def test_a_page_is_cleared_for_the_next_rank(pages):
    """Nothing of the one before is left."""
    pages[0][progress.STEP] = 9
    pages[0][progress.GROUPS] = 4
    pages[0].clear()

    assert pages[0].read() == (0, 0, 0, 0, 0, {})


class Group:
    """A process group as torch shows it."""

    def __init__(self, number):
        self.number = number

    def _get_sequence_number_for_group(self):
        if self.number is None:
            raise RuntimeError("no sequence number")
        return self.number


class World:
    """As torch.distributed keeps it."""

    def __init__(self, **groups):
        self.pg_names = {group: name for name, group in groups.items()}
        self.pg_map = dict.fromkeys(self.pg_names)


def test_the_count_never_goes_back(monkeypatch):
    """Groups come, go, and come again under the same name; one that cannot count is left out."""
    module = type(sys)("torch.distributed.distributed_c10d")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    counted, totals = progress.Collectives(), []
    for world in (
        None,
        World(a=Group(3)),
        World(a=Group(5), b=Group(2)),
        World(c=Group(None)),
        World(a=Group(1)),
    ):
        module._world = world
        counted.count()
        totals.append(counted.total)

    assert totals == [0, 3, 7, 7, 8]


@pytest.mark.train
def test_collectives_of_a_plain_script_are_counted(rank, pages):
    """Over all its groups, and without a word of ours in it."""
    process = rank(
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)\n"
        "other = dist.new_group([0])\n"
        "for _ in range(3): dist.all_reduce(torch.ones(1))\n"
        "dist.all_reduce(torch.ones(1), group=other)\n"
        "print('there'); sys.stdin.readline()\n"
        "dist.destroy_process_group(); print('gone'); sys.stdin.readline()"
    )
    assert process.stdout.readline() == "there\n"
    until(lambda: pages[1].read().collectives >= 4)
    shown = pages[1].read()
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "gone\n"
    time.sleep(0.3)

    assert sum(shown.groups.values()) == shown.collectives
    assert len(shown.groups) == 2
    assert pages[1].read().collectives == shown.collectives
