"""Operator state that was lost: no new munge key replaces that of the hosts, and the key is read back from them."""

import base64
import json
from hashlib import sha256
from pathlib import Path

import pytest

from clusterwright.cli.state import recover as command
from clusterwright.edge.fakes import FakeRemote
from clusterwright.edge.secrets import munge_key, state_folder
from clusterwright.errors import WrightError
from clusterwright.provision import recover as recovering
from clusterwright.provision.apply import apply
from clusterwright.provision.recover import recover, refuse_new_key

LAB = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
KEY, OTHER = bytes(range(256)) * 4, bytes(range(255, -1, -1)) * 4


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, cluster):
    """An empty state folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return state_folder(cluster.name)


def hosts_with(keys, *, receipts=None, down=()):
    """Hosts that have these keys, by name; `*` for the others."""

    def answer(host, command, _stdin):
        key = keys.get(host, keys.get("*", b""))
        if "base64" not in command:
            return "key\n" if key else ""
        rows = (receipts or {}).get(host, sha256(key).hexdigest())
        receipt = {
            "source": "cluster.yaml",
            "when": "20261127-000000",
            "files": {recovering.KEY_FILE: {"sha256": rows}},
        }
        return f"{base64.b64encode(key).decode()}\n{json.dumps(receipt)}"

    return FakeRemote(answer, down=frozenset(down))


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_lost_key_stops_the_apply_before_any_host_is_planned(cluster, folder, dry_run):
    """Neither a dry run nor an apply makes a key, and the message names the hosts and the command."""
    remote = hosts_with({"gpu-node2": KEY})
    with pytest.raises(WrightError, match="gpu-node2 have a munge key") as caught:
        apply(cluster, "cluster.yaml", remote, dry_run=dry_run, only={"gpu-node1"})

    assert "wright state recover" in str(caught.value)
    assert list(folder.iterdir()) == []
    assert all("python" not in command for _host, command in remote.calls)


def test_a_stored_key_needs_no_question(cluster, folder):
    """Nor a connection."""
    munge_key(folder)
    remote = hosts_with({"*": KEY})
    refuse_new_key(cluster, "cluster.yaml", folder, remote)

    assert remote.calls == []


def test_the_key_of_the_hosts_is_stored_for_its_owner_only(cluster, folder):
    """The very bytes, also if a host is down."""
    keys = recover(
        cluster, folder, hosts_with({"*": KEY}, down={"gpu-node4"}), [host.name for host in cluster.hosts()]
    )
    path = folder / "munge.key"

    assert munge_key(folder) == KEY
    assert path.stat().st_mode & 0o777 == 0o600
    assert [key.host for key in keys if key.error] == ["gpu-node4"]
    assert [file.name for file in folder.iterdir()] == ["munge.key"]


@pytest.mark.parametrize(
    ("keys", "receipts", "code"),
    [
        ({"*": KEY, "gpu-node3": OTHER}, {}, "state-disagrees"),
        ({}, {}, "state-not-found"),
        ({"*": KEY[:100]}, {}, "state-not-found"),
        ({"control": KEY}, {"control": "0" * 64}, "state-not-found"),
    ],
)
def test_nothing_is_stored_unless_the_hosts_agree(cluster, folder, keys, receipts, code):
    """Different keys, none, a short one, and one that somebody has replaced since the last apply."""
    hosts = [host.name for host in cluster.hosts()] if "*" in keys or not keys else ["control"]
    with pytest.raises(WrightError) as caught:
        recover(cluster, folder, hosts_with(keys, receipts=receipts), hosts)

    assert caught.value.findings[0].code == code
    assert list(folder.iterdir()) == []
    assert base64.b64encode(KEY).decode()[:20] not in str(caught.value)


def test_a_stored_key_is_never_replaced(cluster, folder):
    """Recovering beside another key is an error; beside the same key, it is done already."""
    stored = munge_key(folder)
    with pytest.raises(WrightError) as caught:
        recover(cluster, folder, hosts_with({"*": KEY}), ["control"])
    recover(cluster, folder, hosts_with({"*": stored}), ["control"])

    assert caught.value.findings[0].code == "state-disagrees"
    assert munge_key(folder) == stored


def test_the_command_prints_fingerprints_and_not_the_key(folder, monkeypatch, capsys):
    """In text and as JSON."""
    # the command builds its own connection
    monkeypatch.setattr("clusterwright.provision.apply.remote_of", lambda _cluster: hosts_with({"*": KEY}))
    assert command(cluster=LAB) == 0
    text = capsys.readouterr()
    assert command(cluster=LAB, hosts="control", json=True) == 0
    document = json.loads(capsys.readouterr().out)

    assert sha256(KEY).hexdigest()[:12] in text.out
    assert "wright apply" in text.err
    assert [row["host"] for row in document["hosts"]] == ["control"]
    assert base64.b64encode(KEY).decode()[:20] not in text.out + json.dumps(document)
