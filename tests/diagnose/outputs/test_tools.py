"""The readers of tools are imported only for texts that they may read."""

import subprocess
import sys
from pathlib import Path

from clusterwright.diagnose.outputs import tools

START = "import sys; from clusterwright.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"


def modules_of(text):
    """Names of the modules that `wright why -` imports for a log."""
    done = subprocess.run(
        [sys.executable, "-c", START, "why", "-"],
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.split()


def test_every_reader_has_keywords():
    """And every name in the table is a file."""
    files = {path.stem for path in Path(tools.__file__).parent.glob("*.py")}

    assert files == {"__init__", *tools.KEYWORDS}


def test_a_log_without_output_of_tools_imports_no_reader():
    """Nor models of the cluster file, of which a log needs none."""
    modules = modules_of("RuntimeError: CUDA out of memory\n")

    assert [name for name in modules if name.startswith("clusterwright.diagnose.outputs.tools.")] == []
    assert {"pydantic", "clusterwright.check.runner", "clusterwright.onhost.runs"} & {*modules} == set()


def test_output_of_a_tool_imports_its_reader():
    """A keyword of one tool is enough."""
    modules = modules_of("RuntimeError: CUDA out of memory\n--- gpu-node1 ibping statistics ---\n")

    assert [name for name in modules if name.startswith("clusterwright.diagnose.outputs.tools.")] == [
        "clusterwright.diagnose.outputs.tools.ibping"
    ]
