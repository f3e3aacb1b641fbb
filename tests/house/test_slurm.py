"""Only the package slurm parses Slurm's output and builds its command lines."""

import ast
import re

PROGRAMS = "scontrol|squeue|sinfo|sacct|sacctmgr|sbatch|srun|scancel|salloc|sdiag|sshare|sprio|sreport|sstat"
COMMAND = re.compile(
    rf"(?:^|[\s;&|(`])(?:{PROGRAMS})(?:\s+(?:-|\$|\"|show|update|delete|hold|release|requeue|reconfigure|ping|modify|add)|$)"
)
ROOMS = ("slurm/", "provision/render/", "provision/roles/", "onhost/")
MOST_FILES = 39  # other files with Slurm command lines, most of them in messages; only lower it

FLAG = re.compile(
    r"(?<![\w=])(NOT_RESPONDING|DRAIN|DRAINED|DRAINING|POWERED_DOWN|POWERING_DOWN|POWERING_UP|MAINT|MAINTENANCE"
    r"|INVAL|INVALID_REG|REBOOT_ISSUED|REBOOT_REQUESTED)(?!\w)"
)
# Keys of slurm.conf and reservations with the same names, and a page that shows a state.
NOT_NODES = {
    "adopt/reservations.py", "diagnose/pending/reasons/nodes.py", "onhost/provision/reservations.py",
    "provision/render/reservations.py",
    "provision/render/slurm_releases.py", "monitor/web/compact.py",
}  # fmt: skip
# Files that name a program of Slurm and split texts without names and comments of jobs: messages, files and answers of
# our own, the output of sbatch, accounts and reservations.
NOT_SLURM = {
    "check/bench/stage.py", "lab/chaos/service.py", "lab/demo/on_lab.py", "launch/arrays.py", "onhost/bench/hello.py",
    "onhost/dev/requests.py", "onhost/provision/reservations.py", "onhost/provision/sacctmgr.py",
    "onhost/supervisor/dependencies.py", "onhost/supervisor/inside.py", "onhost/supervisor/schedulers.py",
    "onhost/supervisor/unsupervised.py", "provision/export/readme.py", "provision/roles/slurm.py",
    "provision/shrink.py",
}  # fmt: skip


def texts(tree):
    """Yield the string constants of a module except docstrings, and the strings of each list as one text."""
    bodies = [
        node.body[0] for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list) and node.body
    ]
    docs = {id(first.value) for first in bodies if isinstance(first, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value
        elif isinstance(node, ast.List | ast.Tuple | ast.Call):
            items = node.args if isinstance(node, ast.Call) else node.elts
            yield " ".join(
                item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)
            )


def naming(source, pattern, rooms):
    """Return the modules outside these packages with a text that matches, other than a program's name alone."""
    outside = (module for module in source if not module.inside.startswith(rooms))
    bare = re.compile(PROGRAMS)
    return [
        module.inside
        for module in outside
        if any(pattern.search(text) and not bare.fullmatch(text) for text in texts(module.tree))
    ]


def test_commands_of_slurm_are_made_in_its_room(source):
    """Command lines are built in one place, so that a change between Slurm releases is made once."""
    found = naming(source, COMMAND, ROOMS)

    assert len(found) <= MOST_FILES, "\n".join(found)


def test_flags_of_a_node_are_read_in_its_room(source):
    """Other packages read node states through slurm.states."""
    found = naming(source, FLAG, ("slurm/",))

    assert set(found) <= NOT_NODES


def test_lines_of_slurm_are_split_in_its_room(source):
    """`str.splitlines` also splits at characters that names and comments of jobs may contain: `records.split_lines`."""
    commands = re.compile(rf"\b(?:{PROGRAMS})\b")
    found = [
        module.inside
        for module in source
        if module.inside not in NOT_SLURM
        and any(
            isinstance(node, ast.Attribute) and node.attr == "splitlines" for node in ast.walk(module.tree)
        )
        and (
            module.inside.startswith("slurm/")
            or "clusterwright.slurm" in module.text
            or any(commands.search(text) for text in texts(module.tree))
        )
    ]

    assert found == []


def test_records_of_jobs_are_read_in_scontrols_order(source):
    """A field counts at its place only: users write names, paths and comments between fields of slurmctld."""
    parsed = {
        module.inside
        for module in source
        if not module.inside.startswith("slurm/")
        and re.search(r"\bRecord\.parse\(|\bparse_fields\(", module.text)
    }

    assert parsed == {"diagnose/pending/facts.py"}, "clusterwright.slurm.job_records parses records of jobs"
