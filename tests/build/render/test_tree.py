"""The whole rendered tree of the example, read like code when it changes."""

from pathlib import Path

import pytest

from clusterwright.build.render.tree import tree

GOLDEN = Path(__file__).parents[2] / "golden" / "render" / "lab"
PLAIN = {"/etc/hostname"}  # a file whose format knows no comment


def test_the_example_renders_as_in_the_golden_tree(cluster, given, request):
    """Every file of every host; `pytest --golden` rewrites it, and the diff is reviewed."""
    rendered = {
        f"{host}{path}": text for host, files in tree(cluster, given).items() for path, text in files.items()
    }
    if request.config.getoption("--golden", default=False):
        rewrite(rendered)
    kept = {str(path.relative_to(GOLDEN)): path.read_text() for path in GOLDEN.rglob("*") if path.is_file()}

    assert rendered == kept


def rewrite(rendered):
    """The golden tree holds what is rendered now, and no more."""
    for path in GOLDEN.rglob("*"):
        if path.is_file():
            path.unlink()
    for name, text in rendered.items():
        (GOLDEN / name).parent.mkdir(parents=True, exist_ok=True)
        (GOLDEN / name).write_text(text)


def test_a_secret_is_only_its_name(cluster, given):
    """The key's bytes are in no rendered file."""
    files = tree(cluster, given)["control"]

    assert files["/etc/munge/munge.key"] == "<secret munge.key>\n"


@pytest.mark.parametrize("host", ["control", "gpu-node4"])
def test_every_file_says_who_made_it(cluster, given, host):
    """So that nobody edits a file that the next apply replaces."""
    for path, text in tree(cluster, given)[host].items():
        if path not in PLAIN and not path.startswith("/opt/") and "<secret" not in text:
            assert text.startswith("# made by clusterwright from cluster.yaml, do not edit\n"), path
