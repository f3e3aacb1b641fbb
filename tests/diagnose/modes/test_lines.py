"""Each mode takes the lines that programs print of it, and leaves those that look alike.

A row of CLASS.tsv: the mode's name, `takes` or `leaves`, and the line; ` ⏎ ` stands between several.
"""

from pathlib import Path

import pytest

from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.reading import of_text, read

ROWS = [
    (f"{path.stem}/{name}", what, log.replace(" ⏎ ", "\n"))
    for path in sorted(Path(__file__).parent.glob("*.tsv"))
    for name, what, log in (row.split("\t", 2) for row in path.read_text(encoding="utf-8").splitlines())
]
MODES = knowledge()


@pytest.mark.parametrize(("mode", "what", "log"), ROWS)
def test_a_mode_takes_its_lines_and_leaves_others(mode, what, log):
    """What it is seen in, before anything is judged."""
    seen = {each.mode.id for each in read([of_text("log", log)], MODES).sightings}

    assert (mode in seen) == (what == "takes")
