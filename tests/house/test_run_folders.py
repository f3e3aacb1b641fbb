"""Users write the folders of runs, and root reads them: only through the safe reader, or as their owner."""

import ast

READERS = (
    "onhost/runs/", "onhost/snapshot/", "onhost/evidence/", "onhost/supervisor/goodput/",
    "onhost/exporter/run_events.py", "onhost/exporter/collectors/control_host/runs.py", "onhost/lib/json_lines.py",
)  # fmt: skip
PLAIN = frozenset(
    {
        "open",
        "fdopen",
        "read_text",
        "read_bytes",
        "write_text",
        "iterdir",
        "glob",
        "iglob",
        "rglob",
        "scandir",
    }
    | {"listdir", "walk", "fwalk"}
)
OTHERS = {
    ("onhost/snapshot/history.py", "glob"): "the file of slurmctld",
    ("onhost/snapshot/history.py", "open"): "the file of slurmctld",
    ("onhost/snapshot/monitors.py", "open"): "an address on this host",
    ("onhost/evidence/stacks.py", "glob"): "/proc",
    ("onhost/evidence/stacks.py", "open"): "/proc",
    ("onhost/runs/run_checkpoints.py", "read_bytes"): "a part that is open already",
}
SAFE = "clusterwright.onhost.lib.safe_reader"


def plain_calls(module):
    """Yield name and line of each call that opens or lists a path; functions of the safe reader do not count."""
    safe = {name.rpartition(".")[2] for _, name in module.imports if name.startswith(SAFE)}
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in PLAIN - safe:
            yield node.func.id, node.lineno
        elif isinstance(node.func, ast.Attribute) and node.func.attr in PLAIN:
            yield node.func.attr, node.lineno


def test_readers_of_runs_open_nothing_themselves(source):
    """A plain `open` waits at a pipe, follows a link to a file of root, and never ends at a device."""
    found = [
        (module.inside, name, line)
        for module in source
        if module.inside.startswith(READERS)
        for name, line in plain_calls(module)
    ]
    wrong = [f"{path}:{line} {name}: use {SAFE}" for path, name, line in found if (path, name) not in OTHERS]

    assert wrong == []
    assert {(path, name) for path, name, _ in found} == set(OTHERS), "an exception that nothing needs"
