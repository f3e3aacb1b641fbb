"""What is sent to hosts."""

from clusterwright.edge.sources import agent_sources, payload


def test_the_agent_imports_only_what_comes_before_it():
    """The loader makes the modules one after the other."""
    seen = set()
    for name, text in agent_sources():
        for other, _text in agent_sources():
            short = other.rpartition(".")[2]
            if f"import {short}" in text or f"{other} import" in text:
                assert other in seen or other == name, (name, other)
        seen.add(name)


def test_jobs_get_their_side_and_nothing_else():
    """The library's root, and what runs inside jobs."""
    paths = set(payload())

    assert {
        "clusterwright/__init__.py",
        "clusterwright/train/__init__.py",
        "clusterwright/train/agent/__init__.py",
        "clusterwright/train/recipes/digits.txt",
    } <= paths
    assert not [path for path in paths if "/build/" in path or "/launch/" in path]
