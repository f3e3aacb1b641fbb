"""No program of ours that Python runs from its command line imports modules of the current folder."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from clusterwright.onhost.lib.processes import NOT_HERE

SOURCE = Path(__file__).parents[2] / "src"
# Programs whose -c is not Python's; after them, an argument -c names a shell line, a file or a format.
OTHERS = {
    "sh",
    "bash",
    "/bin/sh",
    "srun",
    "systemd-run",
    "stat",
    "nft",
    "apt-config",
    "ipmitool",
    "git",
    "blkid",
}
# Lists with -c that are no command of ours: options of pings, programs that a user types, a program of the caller.
TYPED = {
    "check/bench/rdma/verbs.py",
    "launch/command_line.py",
    "launch/lines/rewrite.py",
    "provision/package_bundle/apt.py",  # apt-get and apt-cache
    "lab/faults/read_only_disk.py",
    "onhost/provision/slurm_trial.py",  # slurmctld
    "onhost/supervisor/inside.py",  # in the image of a job, with the rights of its user
    "onhost/supervisor/host/rank.py",
}
# Lines of text with a Python's -c: a suggestion, and the build of an image, whose folder has no file yet.
TEXTS = {"check/checks/torch_imports.py", "launch/image/containerfile.py"}


def commands():
    """Yield (file, line, arguments) of each list, tuple and call with an argument -c."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        if "-c" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            arguments = getattr(node, "elts", None) or getattr(node, "args", None)
            if isinstance(arguments, list) and any(
                isinstance(argument, ast.Constant) and argument.value == "-c" for argument in arguments
            ):
                yield path, node.lineno, arguments


def begins_without_the_folder(path, argument):
    """Return whether the program, a name of the module, begins with the text that removes the folder."""
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    text = (
        getattr(importlib.import_module(module), argument.id, None)
        if isinstance(argument, ast.Name)
        else None
    )
    return isinstance(text, str) and text.startswith(NOT_HERE)


def test_a_python_that_we_start_reads_no_module_of_the_current_folder():
    """It has -I or -P, or its program first removes the folder: another user's repository may be there."""
    bad, count = [], 0
    for path, line, arguments in commands():
        name = str(path.relative_to(SOURCE / "clusterwright"))
        values = [argument.value if isinstance(argument, ast.Constant) else None for argument in arguments]
        place = values.index("-c")
        if name in TYPED or OTHERS & set(values[:place]) or place + 1 == len(values):
            continue
        count += 1
        isolated = {"-I", "-P"} & set(values[:place])
        if not isolated and not begins_without_the_folder(path, arguments[place + 1]):
            bad.append(f"{name}:{line}")

    assert bad == []
    assert count >= 8  # those of today are found


def test_a_module_that_we_start_is_none_of_the_current_folder():
    """With -m, Python puts the current folder first: run_module.py does not. Units of systemd start in /."""
    start = re.compile(r'\bsys\.executable,\s*(?:"-u",\s*)?"-m"')
    bad = [
        str(path.relative_to(SOURCE / "clusterwright"))
        for path in sorted((SOURCE / "clusterwright").rglob("*.py"))
        if start.search(path.read_text())
    ]

    assert bad == []


def test_a_shell_line_with_a_python_neither():
    """A line that is no list: its Python has the option, or its program is one of ours that begins so."""
    shell_line = re.compile(
        r"(python\S*|\$0\"?|chosen\)\})(?P<options>[^'\"\n]*) -c\b(?P<program>.*)", re.IGNORECASE
    )
    bad = []
    for path in sorted((SOURCE / "clusterwright").rglob("*.py")):
        name = str(path.relative_to(SOURCE / "clusterwright"))
        for match in shell_line.finditer(path.read_text()) if name not in TEXTS else ():
            text = match[0]
            if not re.search(r" -(I|IS|P)\b", match["options"]) and not re.search('HAS_TORCH|"\\$1"|`', text):
                bad.append(f"{name}: {text}")

    assert bad == []


@pytest.mark.parametrize(
    ("module", "name"),
    [("launch.local", "HAS_TORCH"), ("check.facts.torch_import", "_PROGRAM"), ("edge.bundler", "LOADER")],
)
def test_programs_of_shell_lines_begin_without_the_folder(module, name):
    """These are passed on as arguments of a shell."""
    text = getattr(importlib.import_module(f"clusterwright.{module}"), name)

    assert text.startswith(NOT_HERE)
