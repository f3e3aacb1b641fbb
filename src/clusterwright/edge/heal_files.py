"""Files of the self-healing service on the control host: its key pair, and the cluster file."""

from __future__ import annotations

from pathlib import Path

from clusterwright.edge.user_keys import user_keys


def heal_files(folder: Path, source: Path) -> dict[str, bytes]:
    """Return `heal/key` and `heal/key.pub`, created on first use, and `heal/cluster.yaml`, a copy of `source`.

    Raises:
        WrightError: ssh-keygen is missing or fails, or other users can read the private key.
    """
    heal_folder = folder / "heal"
    heal_folder.mkdir(mode=0o700, exist_ok=True)
    pair = user_keys(heal_folder, ("heal",))
    return {
        "heal/key": pair["ssh/heal"],
        "heal/key.pub": pair["ssh/heal.pub"],
        "heal/cluster.yaml": source.read_bytes(),
    }
