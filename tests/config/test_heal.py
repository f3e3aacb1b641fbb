"""What the section `heal` may say, and what is refused with which code."""

from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.errors import SpecError

EXAMPLE = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"


def load(folder, section):
    """The lab's file with that section."""
    file = folder / "cluster.yaml"
    file.write_text(EXAMPLE.read_text() + f"\nheal: {section}\n")
    return load_cluster(file)


def test_without_a_word_nothing_is_allowed(tmp_path):
    """Propose is the default."""
    heal = load(tmp_path, "{}").heal

    assert (heal.mode, heal.allow, heal.watch) == ("propose", (), False)


def test_a_policy_that_acts(tmp_path):
    """Quantities are read as everywhere."""
    heal = load(
        tmp_path, "{mode: act, allow: [drain, reboot], max_unavailable_percent: 10, window: 12h}"
    ).heal

    assert (heal.allow, heal.max_unavailable_percent, heal.window) == (("drain", "reboot"), 10, 43200)


@pytest.mark.parametrize(
    ("section", "code", "words"),
    [
        ("{max_unavailable_percent: 120}", "out-of-range", "heal.max_unavailable_percent"),
        ("{mode: act, allow: [explode]}", "not-a-choice", "restart-service"),
        ("{mode: sometimes}", "not-a-choice", "propose"),
        ("{allow: [drain]}", "heal-allow-unused", "mode `propose` runs none"),
        ("{mode: act}", "heal-nothing-allowed", "heal.allow has no actions"),
        ("{mode: none, watch: true}", "heal-watch-off", "heal.mode is none"),
        ("{mode: act, allow: [reboot]}", "heal-without-drain", "add drain"),
        ("{mode: act, allow: [drain, replace]}", "heal-no-spare", "heal.spares"),
        ("{spares: [gpu-node9]}", "unknown-name", "gpu-node9"),
        ("{spares: [control]}", "unknown-name", "compute host"),
        ("{max_attempts: 0}", "out-of-range", "heal.max_attempts"),
        ("{window: 24}", "bad-quantity", "heal.window"),
    ],
)
def test_a_policy_that_cannot_be_meant_is_refused(tmp_path, section, code, words):
    """With the place and the fix."""
    with pytest.raises(SpecError) as refused:
        load(tmp_path, section)

    assert f"error[{code}]" in str(refused.value)
    assert words in str(refused.value)
