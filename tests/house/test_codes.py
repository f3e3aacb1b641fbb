"""Control flow depends on codes, never on texts for people.

Output of other programs (Slurm's reasons, kernel logs, a tool's output) is parsed into codes where it is read.
"""

import ast

# Fields with a text for people. Not `text`, `said` and `reason`, which hold output of other programs.
DISPLAY = """
    about advice detail diff error evidence expected explanation fix headline hint label meaning message
    observed remedy summary title what why words
"""
READERS = """
    count endswith find findall finditer fullmatch index match partition removeprefix removesuffix rfind rindex
    rpartition rsplit search split startswith
"""
SHAPED = "casefold lower rstrip strip upper"  # methods that return the text itself
# Exemptions by module and field: why the field is not our text for people.
OTHERS = {
    ("check/checks/shared_folders.py", "error"): "begins with the name of an errno",
    ("lab/demo/draw/timeline.py", "what"): "the kind of a mark",
    ("onhost/bench/pair.py", "error"): "iperf3's JSON",
    ("runtime/checkpoints/convert.py", "str()"): "torch's error",
}


def test_control_flow_reads_no_text_for_a_reader(source):
    """No `in`, `startswith`, `split`, regex or comparison on such a field, so that rewording changes no decision."""
    found = {
        (module.inside, field): line
        for module in source
        for field, line in _reads(list(ast.walk(module.tree)))
    }

    assert {place: line for place, line in found.items() if place not in OTHERS} == {}
    assert set(OTHERS) <= set(found), "remove exemptions that are not needed"


def _reads(nodes):
    """Return field and line of each inspection of a text for people; `str()` is the text of an error."""
    errors = {node.name for node in nodes if isinstance(node, ast.ExceptHandler)}
    return [
        (field, node.lineno)
        for node in nodes
        for side in _looked_into(node)
        if (field := _field(side, errors))
    ]


def _looked_into(node):
    """Return the expressions whose text a node searches, splits or compares with a constant."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in READERS.split()
    ):
        return [node.func.value, *node.args]
    if not isinstance(node, ast.Compare):
        return []
    sides = [node.left, *node.comparators]
    if isinstance(node.ops[0], ast.Eq | ast.NotEq):
        texts = [
            side.value for side in sides if isinstance(side, ast.Constant) and isinstance(side.value, str)
        ]
        return sides if any(texts) else []
    return [
        side
        for op, side in zip(node.ops, node.comparators, strict=True)
        if isinstance(op, ast.In | ast.NotIn)
    ]


def _field(node, errors):
    """Return the name of the text field that an expression reads, or an empty string."""
    if isinstance(node, ast.Attribute):
        name = node.attr
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        name = node.slice.value
    elif not isinstance(node, ast.Call):
        name = ""
    elif isinstance(node.func, ast.Name) and node.func.id == "str" and node.args:
        caught = isinstance(node.args[0], ast.Name) and node.args[0].id in errors
        return "str()" if caught else _field(node.args[0], errors)
    elif isinstance(node.func, ast.Attribute) and node.func.attr in SHAPED.split():
        return _field(node.func.value, errors)
    elif isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        name = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
    else:
        name = ""
    return name if name in DISPLAY.split() else ""
