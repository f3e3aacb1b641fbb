"""Rates of training logs: which series fall, and which only vary, start, pause or change their batch size."""

import random

import pytest

from clusterwright.diagnose.judge import judge
from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.reading import of_text, read

MODES = knowledge()
FALLING = (2350, 2210, 1840, 1420, 1010, 740, 520, 410)
FORMS = (
    "epoch {n} loss 2.31 {v} samples/s",
    "[rank0]: Epoch: [{n}/90] Throughput: {v:,.1f} samples/sec",
    "Epoch {n}:  100%|██████████| 5004/5004 [35:12<00:00, {v:.2f}it/s, loss=2.1, v_num=3]",
    "{{'loss': 1.2, 'train_samples_per_second': {v:.3f}, 'epoch': {n}.0}}",
    "step: {n}000 loss: 2.31 tokens/s {v}",
    "2026-03-02 09:{n:02}:00,120 INFO iter {n}00 | images per second: {v} | lr 0.1",
    "epoch={n} tok/s={v}k lr=0.1",
    "step {n} loss 2.2 throughput (samples/s/gpu): {v}",
    "step:  {n}0  loss:  7.1  memory: 40.12GiB(50.2%)  tps: {v:,}  tflops: 31.2  mfu: 31.1%",
    "[INFO] [timer.py:264:stop] epoch=0/micro_step={n}0/global_step={n}0, RunningAvgSamplesPerSec={v}.1",
    '{{"step": {n}00, "loss": 2.3, "samples_per_sec": {v}.5}}',
    "epoch {n:03}: {n}0 / 500 loss=3.2, wps={v}, ups=1.2, lr=0.1",
)
DURATIONS = (
    "Epoch(train) [{n}][100/500]  lr: 1.0e-03  eta: 3:02:11  time: {s:.4f}  data_time: 0.0121  loss: 2.31",
    "[d2.utils.events]: iter: {n}00  total_loss: 0.9  time: {s:.4f}  last_time: 0.41  data_time: 0.01  lr: 0.02",
    "Epoch {n}: train_loss=2.1, global_step={n}00, train_step_timing in s={s:.3f}",
    "Epoch {n} took {ms:.1f}s, loss 2.1",
    "epoch {n} finished in {ms:.0f} seconds (loss 2.3)",
    "iteration {n}00/ 9000 | elapsed time per iteration (ms): {ms:.1f} | lm loss: 2.3",
    "Epoch {n}/10 1000/1000 ━━━━━━━━━━━━━━━━━━━━ 812s {ms:.0f}ms/step - accuracy: 0.3 - loss: 2.1",
    "epoch {n} step_time={s:.3f}s loss 2.1",
    "Epoch: [{n}][ 10/5005]\tTime  {s:.3f} ( 0.456)\tData  0.012 ( 0.034)\tLoss 6.9 (6.9)",
    "Epoch {n}: 100%|████| 500/500 [21:02<00:00, {s:.2f}s/it]",
)


def log(form, values):
    """A log with one line for each value, as a rate and as a duration."""
    lines = (form.format(n=n, v=v, ms=1e6 / v, s=1e3 / v) for n, v in enumerate(values, 1))
    return "\n".join(lines) + "\n"


def answers(text):
    """Modes of all diagnoses, and their texts."""
    return [(each.mode, each.cause) for each in judge(read([of_text("-", text)], MODES))]


def slows(text):
    """True if the first diagnosis is that training slows."""
    return answers(text)[:1] != [] and answers(text)[0][0] == "other/training-slows"


@pytest.mark.parametrize("form", [*FORMS, *DURATIONS])
def test_a_falling_rate_is_found_in_any_form(form):
    """Samples, tokens or steps per second that fall, or the time of a step that grows."""
    assert slows(log(form, FALLING))


@pytest.mark.parametrize("form", [*FORMS, *DURATIONS])
def test_a_steady_rate_is_normal_in_any_form(form):
    """It is said to be, with its range."""
    found = answers(log(form, [2350, 2341, 2362, 2338, 2355, 2347, 2360, 2344]))

    assert [mode for mode, _ in found] == ["normal"]
    assert "stays between" in found[0][1]


def test_the_diagnosis_has_the_slope():
    """From what to what, and by how much in an epoch."""
    ((_, cause), *_) = answers(log(FORMS[0], FALLING))

    assert cause == "Training slows: from 2,350 to 410 samples/s, 306 per epoch."


def test_three_epochs_that_each_fall_far_suffice():
    """More are not always there."""
    assert slows(log(FORMS[0], [2350, 1200, 410]))
    assert not slows(log(FORMS[0], [2350, 2100, 1900]))


def test_many_values_show_a_fall_of_a_quarter():
    """With noise of a tenth, from 2,350 to 1,760 in two hundred lines; of ten lines nothing follows."""
    chance = random.Random(5)
    values = [(2350 - 2.95 * n) * chance.uniform(0.95, 1.05) for n in range(200)]

    assert slows(log(FORMS[4], values))
    assert not slows(log(FORMS[4], values[::20]))


STEADY = [2350 + (n * 37) % 41 for n in range(40)]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("warm-up", [310, 900, *STEADY]),
        ("cached at first", [9000, *STEADY]),
        ("one pause", [*STEADY[:20], 12, 40, *STEADY[20:]]),
        ("a pause at the end", [*STEADY, 15]),
        ("slightly slower", [2350 - 8 * n for n in range(40)]),
        ("faster", list(range(400, 2400, 50))),
        ("a dip", [*STEADY[:10], *([900] * 8), *STEADY[10:30]]),
    ],
)
def test_other_series_do_not_fall(name, values):
    """They start, pause, dip or differ little."""
    assert not slows(log(FORMS[0], values)), name


@pytest.mark.parametrize("seed", range(60))
def test_noise_does_not_fall(seed):
    """Of values between a fifth and the whole, in any order."""
    chance = random.Random(seed)

    assert not slows(log(FORMS[4], [chance.uniform(470, 2350) for _ in range(200)]))


def test_a_drop_that_stays_is_found():
    """A host that throttles is slow from one step to the next."""
    assert slows(log(FORMS[4], [*STEADY[:30], *([700] * 30)]))


@pytest.mark.parametrize(
    "change",
    [
        "batch_size: 512",
        "Setting batch size = 512",
        "world_size=16",
        "seq_len: 8192",
        "'gradient_accumulation_steps': 8",
    ],
)
def test_a_change_of_settings_is_no_fall(change):
    """Steps take longer with a larger batch, and rates of two settings are not compared."""
    first = change.replace("512", "128").replace("16", "8").replace("8192", "2048").replace(": 8", ": 2")
    text = f"{first}\n{log(FORMS[2], [40] * 20)}{change}\n{log(FORMS[2], [9] * 20)}"

    assert not slows(text)


@pytest.mark.parametrize(
    "form",
    [
        "Map: {n}0%|███ | 1000/9000 [00:01<00:00, {v} examples/s]",
        "Validation epoch {n}: 100%|███| 50/50 [00:01<00:00, {v}it/s]",
        "{{'eval_loss': 1.2, 'eval_samples_per_second': {v}, 'epoch': {n}.0}}",
        "Engine 000: Avg prompt throughput: {v} tokens/s, Avg generation throughput: 3.1 tokens/s, Running: {n} reqs",
        "Downloading shards: {n}0%|##| {n}/10 [00:12<00:00, {v}it/s]",
        "epoch {n} loss {v}",
        "eth0 {v} packets/s at step {n}",
    ],
)
def test_rates_of_other_work_are_none(form):
    """Preparation of data, evaluation, serving."""
    assert not slows(log(form, FALLING))


def test_the_one_rank_that_slows_is_named():
    """The others are steady."""
    lines = (
        f"[rank{rank}]: step {n} loss 2.1 {value if rank == 3 else 2350} samples/s"
        for n, value in enumerate(FALLING)
        for rank in range(4)
    )
    ((mode, cause), *_) = answers("\n".join(lines))

    assert (mode, cause.endswith("on rank 3 alone.")) == ("other/training-slows", True)


def test_a_large_log_is_sampled():
    """Forty megabytes, of which some lines are read."""
    values = [2350 - n // 150 for n in range(290_000)]
    text = log(
        "epoch {n} step loss 2.31 of many words to fill a line, for the size of a log of weeks "
        + "x" * 40
        + " {v} samples/s",
        values,
    )

    assert len(text) > 32 << 20
    assert slows(text)
