"""What `wright --help` lists."""

import subprocess
import sys

from clusterwright.cli import _overview, commands
from clusterwright.cli._listing import summary_line


def test_every_command_has_one_line():
    """A file dropped into cli/ is a command, with the first line of its docstring."""
    listed = dict(commands())

    assert {"validate", "schema", "explain", "init"} <= set(listed)
    assert all(line.endswith((".", "|all`.")) for line in listed.values()), listed
    assert all(f"  {name} " in _overview() for name in listed)


def test_a_function_and_an_app_both_have_a_line(tmp_path):
    """The docstring of the one, the help of the other; nothing for a file without either."""
    (tmp_path / "one.py").write_text('def one():\n    """Do one thing.\n\n    And more.\n    """\n')
    (tmp_path / "two.py").write_text('two = App(name="two", help="Do two things.")\n')
    (tmp_path / "three.py").write_text("three = 3\n")

    lines = [summary_line(str(tmp_path), name) for name in ("one", "two", "three")]
    assert lines == ["Do one thing.", "Do two things.", ""]


def test_help_imports_neither_the_spec_nor_the_command_line_library():
    """`wright --help` answers at once."""
    start = "import sys; from clusterwright.cli import main; main(); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", start, "--help"], capture_output=True, text=True, check=True)

    assert "validate" in done.stdout
    assert {"cyclopts", "pydantic", "rich", "torch"} & set(done.stderr.split()) == set()
