"""JSON of a host is parsed by the safe reader alone: a stranger's nesting or number ends no command."""

import ast

HOSTS = ("onhost/", "runtime/", "lab/")  # programs on hosts, jobs, and virtual hosts of this machine
OURS = {
    "catalog/fitted.py": "data of this package",
    "catalog/hf.py": "the user's own file",
    "config/yaml_syntax.py": "the user's own file",
    "check/bench/store.py": "the operator's own database",
    "diagnose/knowledge.py": "the operator's own cache",
    "edge/certificates.py": "the operator's own state",
    "heal/journal/journal.py": "the operator's own database",
    "monitor/web/users.py": "the operator's own state",
    "provision/shrink.py": "the operator's own state",
}
SAFE = "clusterwright.onhost.lib.safe_reader.parse_document or edge.answers.parse_answer"


def parsers(module):
    """Yield the line of each use of json.load and json.loads, also under another name."""
    modules = {"json"}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            modules |= {alias.asname for alias in node.names if alias.name == "json" and alias.asname}
        elif isinstance(node, ast.ImportFrom) and node.module == "json":
            yield from (node.lineno for alias in node.names if alias.name in ("load", "loads", "JSONDecoder"))
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in modules
            and node.attr in ("load", "loads", "JSONDecoder")
        ):
            yield node.lineno


def test_json_of_hosts_is_parsed_by_the_safe_reader(source):
    """Brackets by the thousand raise RecursionError, and 1e999 is no number that `int` takes."""
    found = [
        (module.inside, line)
        for module in source
        if not module.inside.startswith(HOSTS)
        for line in parsers(module)
    ]

    assert [f"{path}:{line}: use {SAFE}" for path, line in found if path not in OURS] == []
    assert {path for path, _ in found} == set(OURS), "an exception that nothing needs"
