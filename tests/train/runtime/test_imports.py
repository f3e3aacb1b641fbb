"""The runtime is quick to import and old enough for the hosts it goes to."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.train import recipes, runtime

pytestmark = pytest.mark.train
SOURCES = [
    path for package in (runtime, recipes) for path in sorted(Path(package.__file__).parent.glob("*.py"))
]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_it_is_python_3_9(path):
    """Written so, and annotations are never evaluated."""
    tree = ast.parse(path.read_text(), feature_version=(3, 9))

    lines = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    assert lines or path.name == "__init__.py"


def test_importing_it_adds_little_to_importing_torch():
    """Less than a twentieth of the time, and nothing but the standard library, torch's own and ours."""
    code = (
        "import time; begun = time.process_time(); import torch; torchs = time.process_time() - begun;"
        "import sys; before = set(sys.modules); begun = time.process_time();"
        "from clusterwright.train import runtime; ours = time.process_time() - begun;"
        "new = {name.split('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names;"
        "print(ours / torchs); print(sorted(new))"
    )
    ratio, new = subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()

    assert new in ("['clusterwright']", "['clusterwright', 'torch']")
    assert float(ratio) < 0.05
