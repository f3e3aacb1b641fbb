"""What is typed becomes a workload, or all that is wrong with it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.errors import WrightError
from clusterwright.plan.sizing.workload import WorkloadRequest, workload


def test_samples_are_sequences_of_the_length_said(work):
    """52,000 of 512 tokens, three times, in batches of 64."""
    asked = WorkloadRequest(
        work.training.architecture, task="sft", samples="52k", seq="512", global_batch="64", deadline="3h"
    )

    made, deadline = workload(asked)
    assert (made.steps, made.training.seq_len, deadline) == (813 * 3, 512, 3 * 3600)
    assert made.tokens == 813 * 3 * 64 * 512


def test_what_was_not_said_is_assumed_and_noted(work):
    """The task's usual values, with where they are from."""
    made, deadline = workload(WorkloadRequest(work.training.architecture, task="sft", samples="52k"))

    assert deadline == math.inf
    assert made.notes[0].startswith("assumed --seq 2048, --global-batch 64, --epochs 3 for sft (")
    assert "each sample counts as 2048 tokens" in made.notes[1]


@given(st.integers(1, 10**13), st.integers(1, 10**5))
def test_no_token_is_left_out(work, tokens, seq):
    """What goes through the model is at least what was asked, and less than a batch more."""
    made, _ = workload(
        WorkloadRequest(
            work.training.architecture, tokens=str(tokens), seq=str(seq), global_batch="64", epochs=1
        )
    )

    assert tokens * (1 - 1e-9) <= made.tokens < tokens + 64 * seq * (1 + 1e-9)


def test_everything_wrong_is_told_at_once(work):
    """One finding each."""
    asked = WorkloadRequest(
        work.training.architecture, task="dance", samples="-3", tokens="1e9", seq="2048x", deadline="3 hours", epochs=0
    )  # fmt: skip

    with pytest.raises(WrightError) as caught:
        workload(asked)
    codes = [finding.code for finding in caught.value.findings]
    assert sorted(codes) == ["bad-quantity"] * 2 + ["size-workload"] * 3
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("given_", [{}, {"samples": "1k", "tokens": "1k"}])
def test_the_amount_of_data_is_given_once(work, given_):
    """Neither or both is refused."""
    with pytest.raises(WrightError, match=r"amount of data|both --samples"):
        workload(WorkloadRequest(work.training.architecture, **given_))


def test_no_time_is_no_deadline(work):
    """0s cannot be met."""
    with pytest.raises(WrightError, match="--deadline is 0"):
        workload(WorkloadRequest(work.training.architecture, tokens="1e9", deadline="0s"))


@pytest.mark.parametrize(("given_", "task"), [({"samples": "1k"}, "sft"), ({"tokens": "1e9"}, "pretrain")])
def test_samples_are_tuned_on_and_tokens_trained_on(work, given_, task):
    """Where no task is named, and the note says so."""
    made, _ = workload(WorkloadRequest(work.training.architecture, **given_))

    assert made.training.task == task
    assert f"--task {task}" in made.notes[0]
