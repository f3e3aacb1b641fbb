"""How fast a run is, and what to do about steps that wait for data."""

import pytest

from clusterwright.onhost.supervisor.goodput import advice, speed
from clusterwright.onhost.supervisor.goodput.speed import Reading

RECORD = {"gpu": {"peak": {"bf16": 100e12}}, "job": {"data": [{"path": "/shared/images", "stage": "none"}]}}


def steps(first, last, *, share=0.1, generation=1, **more):
    """Steps of half a second, of which a share is waiting."""
    return [
        {"time": 100 * generation + step / 2, "event": "step", "step": step, "seconds": 0.5, "loss": 1.0,
         "busy": (step - first + 1) / 2, "waited": share * (step - first + 1) / 2, "generation": generation, **more}
        for step in range(first, last + 1)
    ]  # fmt: skip


def plan(generation=1, **more):
    """The loop begins."""
    return {"time": 100 * generation, "event": "plan", "step": 0, "total_steps": 100, "batch": 32,
            "workers": 0, "cpus": 8, "generation": generation, **more}  # fmt: skip


def reading(share, *, here=None, workers=0, cpus=8, cpu=1.0):
    """So much waiting, and a share of the readers' time in which they computed."""
    had_s = 100 * (workers or (share if here is None else here))
    return Reading(share, share if here is None else here, 100.0, 200, workers, cpus, cpu * had_s)


def test_mfu_is_a_share_of_all_gpus_peak():
    """Two steps a second of 10 TFLOP on 2 GPUs of 100 TFLOP/s."""
    group = {"time": 1, "event": "group_ready", "world_size": 2, "generation": 1}
    told = [group, plan(flops=10e12, dtype="bfloat16", device="NVIDIA H100"), *steps(1, 20, tokens=64)]
    found = speed.progress(told, RECORD, running=True)

    assert found["mfu"] == pytest.approx(0.1)
    assert (found["tokens_per_s"], found["samples_per_s"]) == (pytest.approx(128), pytest.approx(64))
    assert found["eta_s"] == pytest.approx(40)


@pytest.mark.parametrize(
    "more",
    [{"device": "cpu", "flops": 1e12}, {"device": "NVIDIA H100", "flops": None}],
    ids=["no GPU", "no figure"],
)
def test_what_nobody_said_is_unknown(more):
    """No MFU is made up."""
    told = [
        {"time": 1, "event": "group_ready", "world_size": 1},
        plan(dtype="bfloat16", **more),
        *steps(1, 20),
    ]

    assert speed.progress(told, RECORD, running=True)["mfu"] is None


def test_flops_of_an_earlier_generation_hold():
    """A generation that goes on does not count them again."""
    told = [
        {"time": 1, "event": "group_ready", "world_size": 1}, plan(flops=10e12, dtype="bfloat16", device="x"),
        *steps(1, 20), plan(2, flops=None, dtype="bfloat16", device="x"), *steps(11, 30, generation=2),
    ]  # fmt: skip

    assert speed.progress(told, RECORD, running=True)["mfu"] == pytest.approx(0.2)


def test_a_run_without_steps_has_no_figures():
    """Only what it wants to do."""
    found = speed.progress([plan()], {}, running=True)

    assert (found["step"], found["total_steps"], found["data_wait"]) == (None, 100, None)
    assert speed.combine_generations([plan()]) is None


def test_generations_count_together():
    """A tenth of ten steps and three tenths of thirty are a quarter."""
    told = [plan(), *steps(1, 11), plan(2), *steps(11, 41, share=0.3, generation=2)]

    assert speed.combine_generations(told).share == pytest.approx(0.25)


def test_little_waiting_is_one_line():
    """Which says so."""
    assert advice.lines(reading(0.004), RECORD) == ["data: steps waited 0.4% of their time for their batches"]
    assert advice.lines(None, RECORD) == []


def test_a_rank_that_reads_by_itself_is_told_how_many_processes_it_takes():
    """Reading takes three quarters of the step: three times as long as training."""
    found = reading(0.75)
    said = "\n".join(advice.lines(found, RECORD))

    assert advice.needed_workers(found) == 3
    assert "375 ms of 500 ms; the rank itself reads, 8 CPUs per rank" in said
    assert "set num_workers to 3" in said


def test_processes_that_do_not_keep_up_are_counted_again():
    """Two processes, and steps that wait half of their time: twice as many."""
    assert advice.needed_workers(reading(0.5, workers=2)) == 4


def test_where_processors_do_not_suffice_more_processes_are_no_help():
    """Decode once, or ask for more."""
    said = "\n".join(advice.lines(reading(0.75, cpus=2), RECORD))

    assert "num_workers 3 would keep up: request more CPUs per GPU, or store the samples decoded" in said


def test_readers_that_wait_for_the_storage_want_it_nearer():
    """The job's own folder is named; where it is staged, neighbors are to be read together."""
    slow = reading(0.5, cpu=0.1)
    staged = {"job": {"data": [{"path": "/shared/images", "stage": "local"}]}}

    assert any("`stage: local` for /shared/images" in each for each in advice.lines(slow, RECORD))
    assert any("Sampler.over" in each for each in advice.lines(slow, staged))


def test_bad_samples_are_counted_once_and_the_first_is_named():
    """Two ranks met the same one; a recipe that reads all first says so itself."""
    met = [
        {"time": n, "event": "bad_sample", "message": words}
        for n, words in enumerate(["a: no", "b: no", "a: no"])
    ]
    read = {"time": 1, "event": "data", "bad": 2, "first_bad": ["x.jsonl: sample 3: not JSON"]}

    assert advice.list_advice(met, {}) == ["data: 2 bad samples skipped, the first: a: no"]
    assert advice.list_advice([read], {}) == [
        "data: 2 bad samples skipped, the first: x.jsonl: sample 3: not JSON"
    ]


def test_another_hosts_trouble_is_told_apart():
    """Rank 0 does not wait, and all wait for the one that does."""
    said = advice.lines(reading(0.3, here=0.01), RECORD)

    assert any("another host's storage or CPUs are slower" in each for each in said)
