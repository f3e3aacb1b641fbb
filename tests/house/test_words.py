"""Few declared names are everyday words, and each term of the glossary has one word."""

import ast
import importlib.machinery
import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.toml"
WORDS = tomllib.loads((Path(__file__).parent / "everyday_words.toml").read_text())
ALONE = frozenset(WORDS["alone"].split())
EVERYDAY = frozenset(WORDS["anywhere"].split())
MOST_PHRASES = 41  # in messages and pages together; only lower it
MOST_SHARE = 0.0038  # of all declared names; only lower it


def is_everyday(name):
    """Return whether a name consists of everyday words."""
    if name.startswith("__"):
        return False
    parts = [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
    if len(parts) == 1:
        return parts[0] in EVERYDAY | ALONE
    return any(part in EVERYDAY - ALONE for part in parts)


def declared(tree, scope=()):
    """Return (scope, name) of each declared function, class, parameter, variable and field."""
    names = set()
    for node in ast.iter_child_nodes(tree):
        inner = scope
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add((scope, node.name))
            inner = (*scope, node.name)
        elif isinstance(node, ast.arg):
            names.add((scope, node.arg))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add((scope, node.id))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add((scope, node.attr))
        names |= declared(node, inner)
    return names


@pytest.mark.parametrize("name", ["found", "_KEPT", "Asked", "told_hosts", "first"])
def test_a_name_of_everyday_words_is_found(name):
    """An everyday word is found with underscore, in capitals and next to other words."""
    assert is_everyday(name)


@pytest.mark.parametrize(
    "name", ["first_step", "hosts", "parse_nodes", "is_drained", "page_size", "__call__"]
)
def test_a_name_of_the_field_is_none(name):
    """Names of the field and dunder names are not everyday names."""
    assert not is_everyday(name)


def test_names_are_words_of_the_field(source):
    """The share of everyday names stays below its limit."""
    names = [(module.name, *name) for module in source for name in declared(module.tree)]
    everyday = sorted(
        f"{module}: {'.'.join((*scope, name))}" for module, scope, name in names if is_everyday(name)
    )

    assert len(names) > 30_000
    assert len(everyday) <= MOST_SHARE * len(names), "\n".join(everyday)


def test_a_term_has_one_word():
    """No two terms share a word in English or Chinese; each belongs to an existing package."""
    terms = tomllib.loads(GLOSSARY.read_text())["term"]

    for key in ("term", "zh"):
        words = [term[key] for term in terms]
        assert sorted(words) == sorted(set(words))
    for term in terms:
        path = ROOT / "src" / "clusterwright" / term["room"]
        assert path.is_dir() or path.with_suffix(".py").is_file(), term


UNCHECKED = (
    "glossary.md",
    "CHANGELOG.md",
    "log.md",
    "endure.md",
    "accuracy.md",
)  # history and generated pages


def written():
    """Every message of the catalog and every line of the hand-written English pages, with where it is."""
    loader = importlib.machinery.SourceFileLoader("messages", str(ROOT / "tools" / "messages"))
    spec = importlib.util.spec_from_loader("messages", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    for message in module.extract():
        for text in [message.id] if isinstance(message.id, str) else message.id:
            yield (message.locations[0][0] if message.locations else "", text)
    for pattern in ("*.md", "docs/*.md", "docs/guides/**/*.md", "docs/concepts/*.md", "docs/decisions/*.md"):
        for path in sorted(ROOT.glob(pattern)):
            if "zh-CN" not in path.name and path.name not in UNCHECKED:
                prose = re.sub(r"`[^`\n]*`|\]\([^)]*\)", "", path.read_text())  # without code and addresses
                lines = prose.splitlines()
                yield from ((str(path.relative_to(ROOT)), line) for line in lines)


def test_messages_and_pages_use_the_terms():
    """None has a word that the glossary replaces; phrases that hide who acts become fewer."""
    glossary = tomllib.loads(GLOSSARY.read_text())
    texts = list(written())
    replaced = re.compile(
        r"\b(?:" + "|".join(word for term in glossary["term"] for word in term.get("not", ())) + r")"
    )
    avoided = re.compile(
        r"\b(?:" + "|".join(word for row in glossary["phrase"] for word in row["avoid"]) + r")\b"
    )

    assert [f"{where}: {text}" for where, text in texts if replaced.search(text)] == []
    found = [f"{where}: {text}" for where, text in texts if avoided.search(text)]
    assert len(found) <= MOST_PHRASES, "\n".join(found)
