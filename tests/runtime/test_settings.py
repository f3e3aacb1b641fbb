"""What launcher and script say."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from clusterwright.runtime import settings

pytestmark = pytest.mark.train


def test_without_a_launcher_nothing_is_kept():
    """A plain `python train.py` writes no file."""
    given = settings.read(None, None, None, {})

    assert (given.run, given.checkpoints, given.deadline, given.generation) == (None, None, None, 0)
    assert given.every == settings.Every(seconds=600)


def test_the_launcher_is_heard():
    """All of decision 0001's variables."""
    environ = {
        "CLUSTERWRIGHT_RUN": "/r",
        "CLUSTERWRIGHT_CHECKPOINTS": "/c",
        "CLUSTERWRIGHT_CHECKPOINT_EVERY": "steps:25",
        "CLUSTERWRIGHT_SAVE_TOTAL_LIMIT": "5",
        "CLUSTERWRIGHT_GENERATION": "2",
        "CLUSTERWRIGHT_DEADLINE": "12.5",
    }
    given = settings.read(None, None, None, environ)

    assert (given.run, given.checkpoints) == (Path("/r"), Path("/c"))
    assert (given.save_total_limit, given.generation, given.deadline) == (5, 2, 12.5)
    assert given.every == settings.Every(steps=25)


def test_the_script_has_the_last_word():
    """What it says stands, whatever the launcher would have said."""
    given = settings.read(
        "/mine", "seconds:5", 4, {"CLUSTERWRIGHT_RUN": "/r", "CLUSTERWRIGHT_CHECKPOINTS": "/c"}
    )

    assert (str(given.run), str(given.checkpoints), given.save_total_limit) == (
        "/mine",
        "/mine/checkpoints",
        4,
    )
    assert given.every == settings.Every(seconds=5)


def test_two_are_kept_at_least():
    """The newest may turn out to be bad."""
    assert settings.read("/r", None, 1, {}).save_total_limit == 2


@pytest.mark.parametrize(
    "text", ["25", "steps:0", "steps:-1", "steps:1.5", "hours:1", "steps:25 ", "", "steps:9999999999"]
)
def test_an_interval_without_unit_or_sense_is_refused(text):
    """And the right way is shown."""
    with pytest.raises(ValueError, match="write steps:25 or seconds:600"):
        settings.Every.parse(text)
