"""The runtime is quick to import and old enough for the hosts it goes to."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright import runtime
from clusterwright.runtime import recipes

pytestmark = pytest.mark.train
SOURCES = [
    path for package in (runtime, recipes) for path in sorted(Path(package.__file__).parent.rglob("*.py"))
]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_it_is_python_3_9(path):
    """Written so, and annotations are never evaluated."""
    tree = ast.parse(path.read_text(), feature_version=(3, 9))

    lines = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    assert lines or path.name == "__init__.py"


def test_importing_it_adds_little_to_importing_torch():
    """Few modules where torch has some 2,000: the standard library's, ours, and of torch's own no slow ones."""
    code = (
        "import torch, sys; before = set(sys.modules);"
        "from clusterwright import runtime; print(*sorted(set(sys.modules) - before))"
    )
    new = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    others = {name.split(".")[0] for name in new} - sys.stdlib_module_names

    assert others <= {"clusterwright", "torch"}
    assert not [name for name in new if name.startswith(("torch._dynamo", "torch._inductor", "torch.onnx"))]
    assert len(new) < 200
