import pytest

from clusterwright.config.load import load_job
from clusterwright.errors import SpecError


def job(tmp_path, text):
    path = tmp_path / "job.yaml"
    path.write_text(f"name: a\nrecipe: gpt\ntime: 10m\n{text}\n")
    return load_job(path)


@pytest.mark.parametrize(
    ("text", "seen"), [("auto", "auto"), ("never", "never"), ("1 step", 1), ("20 steps", 20)], ids=str
)
def test_copies_into_memory_are_counted_in_steps(tmp_path, text, seen):
    """Or left to us, or not made at all."""
    copies = job(tmp_path, f"checkpoint: {{memory: {text}}}").checkpoint.memory

    assert getattr(copies, "steps", copies) == seen


@pytest.mark.parametrize("text", ["10m", "5", "0 steps", "hourly"])
def test_other_ways_to_count_copies_are_refused(tmp_path, text):
    """A time would make ranks disagree."""
    with pytest.raises(SpecError, match="bad-quantity"):
        job(tmp_path, f"checkpoint: {{memory: {text}}}")


@pytest.mark.parametrize(("text", "seen"), [("auto", "auto"), ("never", "never"), ("10m", 600)], ids=str)
def test_a_standstill_is_a_time_or_a_word(tmp_path, text, seen):
    """In seconds inside."""
    assert job(tmp_path, f"recovery: {{hang: {text}}}").recovery.hang == seen


@pytest.mark.parametrize("text", ["1s", "30", "2d", "5 steps"])
def test_other_standstills_are_refused(tmp_path, text):
    """Too short to be told from a pause, too long to be of use, or without a unit."""
    with pytest.raises(SpecError, match="bad-quantity"):
        job(tmp_path, f"recovery: {{hang: {text}}}")
