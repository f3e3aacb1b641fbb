"""The whole rendered trees of the examples, folded, and read like code when they change."""

import hashlib
import re
from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.config.names import expand, fold
from clusterwright.provision.export.fold import fold_files
from clusterwright.provision.render.tree import tree

EXAMPLES = Path(__file__).parents[3] / "examples"
GOLDEN = Path(__file__).parents[2] / "golden" / "render"
NAMES = ["lab", "university", "a100", "hgx", "gpu1024"]
MOST_BYTES = 1_000_000  # of one example: a tree that nobody can read is not reviewed
# no comments there; empty, and so masked; JSON
PLAIN = {"/etc/hostname", "/etc/systemd/system/swap.target", "/etc/clusterwright/exporter.json"}


def manifest(files):
    """A line for each file that differs: the hash of its bytes, its path, and every host that has it so."""
    found = {}
    for host, texts in files.items():
        for path, text in texts.items():
            found.setdefault((path, hashlib.sha256(text.encode()).hexdigest()[:16]), []).append(host)
    return "".join(f"{digest}  {path}  {fold(hosts)}\n" for (path, digest), hosts in sorted(found.items()))


def readable(cluster, files):
    """`{place/path: text}`: what hosts share, once; a file that each host of a group has its own, of one host."""
    groups = {f"hosts/{host.name}": host.group_name for host in cluster.hosts()}
    shown, seen = {}, set()
    for place, texts in fold_files(files, cluster.hosts()).items():
        for path, text in texts.items():
            if (groups.get(place, place), path) not in seen:
                shown[f"{place}{path}"] = text
            seen.add((groups.get(place, place), path))
    return shown


def kept_in(folder):
    """`{path: text}` of all files below the folder."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def rewrite(folder, rendered):
    """The folder holds what is rendered now, and no more."""
    for path in folder.rglob("*"):
        if path.is_file():
            path.unlink()
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir()
    for name, text in rendered.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_renders_as_in_its_golden_tree(name, given, golden):
    """Every file of every host, by its text or its hash; `pytest --golden` rewrites, and the diff is reviewed."""
    cluster = load_cluster(EXAMPLES / name / "cluster.yaml")
    files = tree(cluster, given)
    rendered = {"MANIFEST": manifest(files), **readable(cluster, files)}
    if golden:
        rewrite(GOLDEN / name, rendered)

    assert rendered == kept_in(GOLDEN / name)


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_tree_hides_no_file_and_stays_small(name):
    """Every host of the example is in the manifest; a text that is there has the hash that stands there."""
    cluster = load_cluster(EXAMPLES / name / "cluster.yaml")
    lines = [line.split("  ") for line in (GOLDEN / name / "MANIFEST").read_text().splitlines()]
    texts = kept_in(GOLDEN / name)
    shown = {
        (re.sub(r"^(all|[^/]+/[^/]+)/", "/", place), hashlib.sha256(text.encode()).hexdigest()[:16])
        for place, text in texts.items()
        if place != "MANIFEST"
    }

    assert {host for _digest, _path, hosts in lines for host in expand(hosts)} == {
        host.name for host in cluster.hosts()
    }
    assert shown <= {(path, digest) for digest, path, _hosts in lines}
    assert {path for _digest, path, _hosts in lines} == {path for path, _digest in shown}
    assert sum(len(text.encode()) for text in texts.values()) < MOST_BYTES


def test_a_secret_is_only_its_name(cluster, given):
    """The key's bytes are in no rendered file."""
    files = tree(cluster, given)["control"]

    assert files["/etc/munge/munge.key"] == "<secret munge.key>\n"


@pytest.mark.parametrize("host", ["control", "gpu-node4"])
def test_every_file_says_who_made_it(cluster, given, host):
    """So that nobody edits a file that the next apply replaces."""
    for path, text in tree(cluster, given)[host].items():
        if path not in PLAIN and not path.startswith("/opt/") and "<secret" not in text:
            said = text.removeprefix("#!/bin/sh\n")
            assert said.startswith("# made by clusterwright; edit the cluster file instead\n"), path
