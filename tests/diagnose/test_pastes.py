"""What people paste to ask what is wrong: output of commands as tools print it, and healthy output of the same tools.

`first`: the mode that comes first; empty where nothing is wrong.
"""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright.diagnose.judge import judge
from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.reading import of_text, read

CASES = {
    f"{path.stem}/{name}": case
    for path in sorted((Path(__file__).parent / "pastes").glob("*.yaml"))
    for name, case in YAML(typ="safe").load(path).items()
}
MODES = knowledge()


def diagnoses(text):
    """Diagnoses of a paste, without those that say that something is harmless or normal."""
    return [each for each in judge(read([of_text("-", text)], MODES)) if each.role != "benign"]


@pytest.mark.parametrize("name", CASES)
def test_the_first_diagnosis_of_a_paste(name):
    """It is the mode of the failure, or none."""
    case = CASES[name]

    assert next((each.mode for each in diagnoses(case["log"])), "") == case["first"]
