"""Operator state that was lost, on real hosts: apply stops, and the key comes back from them."""

from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.cli.state import recover
from clusterwright.config.load import load_cluster
from clusterwright.edge.secrets import state_folder
from clusterwright.errors import WrightError
from clusterwright.lab.able import able
from clusterwright.provision.apply import apply, remote_of

LAB = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
NAME, SUBNETS = "state-recover", "10.187."
MISSING = able()

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A control host and one GPU host, applied; taken down at the end, whatever happened."""
    text = LAB.read_text().replace("10.77.", SUBNETS).replace("name: lab\n", f"name: {NAME}\n")
    path = tmp_path_factory.mktemp("site") / "cluster.yaml"
    path.write_text(text.replace("gpu-node[1-4]", "gpu-node1"))
    cluster = load_cluster(path)
    lab.up(cluster)
    try:
        assert apply(cluster, str(path), remote_of(cluster)).ok
        yield path
    finally:
        lab.down(NAME)


def test_a_lost_key_is_read_back_from_the_hosts(file):
    """Apply stops, dry or not, and changes no host; after `wright state recover` it finds nothing to change."""
    cluster = load_cluster(file)
    key = state_folder(NAME) / "munge.key"
    before = key.read_bytes()
    key.unlink()
    for dry_run in (True, False):
        with pytest.raises(WrightError, match="wright state recover"):
            apply(cluster, str(file), remote_of(cluster), dry_run=dry_run)

    assert not key.exists()
    assert recover(cluster=file) == 0
    assert (key.read_bytes(), key.stat().st_mode & 0o777) == (before, 0o600)
    assert apply(cluster, str(file), remote_of(cluster), dry_run=True).pending == 0
    assert remote_of(cluster).run("control", "munge -n | unmunge >/dev/null").ok
