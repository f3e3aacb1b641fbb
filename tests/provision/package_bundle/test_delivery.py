"""The copy of a bundle on a host: equal to the bundle, only what is lacking is sent, and complete or unused."""

import os
import re
from pathlib import Path

import pytest

from clusterwright.edge.host import Host
from clusterwright.edge.processes import CommandResult, run
from clusterwright.onhost.provision.host import ChangeError, LocalHost
from clusterwright.onhost.provision.package_bundle import FOLDER, require_folder
from clusterwright.provision.package_bundle import delivery
from clusterwright.provision.package_bundle.archive import Bundle, file_rows, write_bundle
from clusterwright.provision.package_bundle.manifest import BundleManifest

FILES = {"key.asc": b"a key\n", "repository/a.deb": b"a" * 900, "repository/b.deb": b"b" * 2500}


class LocalRemote:
    """A remote whose one host is a folder of this machine; after `limit` calls it is not reachable."""

    sudo = False

    def __init__(self, root, limit=100):
        self.root, self.limit, self.sent = root, limit, []

    def run(self, host, command, *, stdin=b"", timeout_s=60):
        """Run the command here, with the folder of bundles below the root."""
        if len(self.sent) == self.limit:
            return CommandResult((host, command), 255, "", "Connection closed", 0.0)
        self.sent.append(len(stdin))
        text = command.replace(FOLDER, str(self.root) + FOLDER)
        if os.geteuid():
            text = re.sub(r"chown \S+ ", "true ", text)
        return run(("sh", "-c", text), stdin=stdin, timeout_s=timeout_s)


@pytest.fixture
def bundle(tmp_path, monkeypatch):
    """Writes a bundle of these files; a part is 1000 bytes."""
    monkeypatch.setattr(delivery, "PART_BYTES", 1000)

    def make(files):
        content = tmp_path / f"content{len(list(tmp_path.iterdir()))}"
        for name, data in files.items():
            (content / name).parent.mkdir(parents=True, exist_ok=True)
            (content / name).write_bytes(data)
        manifest = BundleManifest("debian-12", "amd64", (), file_rows(content))
        write_bundle(tmp_path / "bundle.tar", content, manifest)
        return Bundle(tmp_path / "bundle.tar", manifest, manifest.dump())

    return make


def files_on(remote):
    """Every file of the host's folder, with its content."""
    folder = Path(f"{remote.root}{FOLDER}")
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_folder_equals_the_bundle(bundle, tmp_path):
    """Small files together, a large one in parts, the manifest last; everybody may read, only root write."""
    remote, made = LocalRemote(tmp_path / "host"), bundle(FILES)

    assert delivery.deliver(made, Host(remote, "n1")) == ""
    assert files_on(remote) == FILES | {"manifest.json": made.manifest_text}
    for path in (tmp_path / "host" / FOLDER.lstrip("/")).rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o755 if path.is_dir() else 0o644)


def test_only_what_is_lacking_is_sent(bundle, tmp_path):
    """Nothing to a host with the same bundle; of another bundle the files that differ; obsolete ones are removed."""
    remote = LocalRemote(tmp_path / "host")
    delivery.deliver(bundle(FILES), Host(remote, "n1"))
    remote.sent.clear()
    delivery.deliver(bundle(FILES), Host(remote, "n1"))

    assert remote.sent == [0]

    newer = {"key.asc": b"another key\n", "repository/b.deb": FILES["repository/b.deb"]}
    remote.sent.clear()
    made = bundle(newer)

    assert delivery.deliver(made, Host(remote, "n1")) == ""
    assert files_on(remote) == newer | {"manifest.json": made.manifest_text}
    assert sum(remote.sent) < 2500 + len(made.manifest_text) + 10240


@pytest.mark.parametrize("limit", range(1, 7))
def test_an_interrupted_copy_is_not_used_and_is_completed(bundle, tmp_path, limit):
    """Wherever the connection breaks, also after an older bundle was complete."""
    root = tmp_path / "host"
    delivery.deliver(bundle({"key.asc": b"old"}), Host(LocalRemote(root), "n1"))
    made = bundle(FILES)
    broken = LocalRemote(root, limit)
    host = LocalHost({"root": str(root), "resources": [], "mode": "apply"})

    assert "Connection closed" in delivery.deliver(made, Host(broken, "n1"))
    with pytest.raises(ChangeError, match="no complete bundle"):
        require_folder(host)
    assert delivery.deliver(made, Host(LocalRemote(root), "n1")) == ""
    assert files_on(broken) == FILES | {"manifest.json": made.manifest_text}


@pytest.mark.parametrize("name", ["repository/a.deb", "repository/b.deb"])
def test_a_bundle_that_is_exchanged_after_the_check_is_not_used(bundle, tmp_path, name):
    """Its folder can be writable by another user; a small file and one of several parts."""
    made = bundle(FILES)
    bundle(FILES | {name: bytes(len(FILES[name]))})
    remote = LocalRemote(tmp_path / "host")
    host = LocalHost({"root": str(remote.root), "resources": [], "mode": "apply"})

    assert "was changed while it was copied" in delivery.deliver(made, Host(remote, "n1"))
    assert bytes(len(FILES[name])) not in files_on(remote).values()
    with pytest.raises(ChangeError, match="no complete bundle"):
        require_folder(host)


def test_a_file_that_is_removed_from_the_bundle_after_the_check_is_missed(bundle, tmp_path):
    """The copy on the host is not complete then."""
    made = bundle(FILES)
    bundle({"key.asc": FILES["key.asc"]})

    failure = delivery.deliver(made, Host(LocalRemote(tmp_path / "host"), "n1"))

    assert "was changed while it was copied" in failure
