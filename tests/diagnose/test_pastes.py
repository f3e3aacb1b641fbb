"""What people paste to ask what is wrong: output of commands as tools print it, and healthy output of the same tools.

`first`: the mode that comes first; empty where nothing is wrong. `normal`: a sentence that names a normal value.
`host`: the host of the first one.
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


def diagnoses(text, **options):
    """All diagnoses of a paste."""
    return judge(read([of_text("-", text)], MODES, **options))


@pytest.mark.parametrize("name", CASES)
def test_the_first_diagnosis_of_a_paste(name):
    """It is the mode of the failure, or none; what is normal is said to be."""
    case = CASES[name]
    answers = diagnoses(case["log"])

    assert next((each.mode for each in answers if each.role != "benign"), "") == case["first"]
    if "host" in case:
        assert answers[0].subject["host"] == case["host"]
    if "normal" in case:
        assert case["normal"] in [each.cause for each in answers if each.kind == "normal"]
