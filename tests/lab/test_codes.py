"""Every error of the lab has its page."""

import re
from pathlib import Path

import clusterwright
from clusterwright.cli._pages import pages
from clusterwright.onhost.lib.run_outcome import EXIT_CODES


def test_every_code_of_the_lab_has_a_page():
    """`wright explain CODE` has something to show."""
    files = [
        *Path(clusterwright.__file__).parent.glob("lab/**/*.py"),
        Path(clusterwright.__file__).parent / "cli/lab.py",
    ]
    codes = {code for file in files for code in re.findall(r'"((?:lab-|no-)[a-z-]+)"', file.read_text())}

    assert len(codes) > 20
    assert codes - set(pages()) - set(EXIT_CODES) - {"lab-cgroups"} == set()
