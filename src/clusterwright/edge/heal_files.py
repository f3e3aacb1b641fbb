"""What the loop on the control host works with: a key pair of its own, and the cluster file."""

from __future__ import annotations

from pathlib import Path

from clusterwright.edge.user_keys import user_keys


def heal_files(folder: Path, source: Path) -> dict[str, bytes]:
    """`heal/key` and `heal/key.pub`, made the first time; `heal/cluster.yaml` as it is.

    Raises:
        WrightError: ssh-keygen is not there, or others can read the private half.
    """
    heal_folder = folder / "heal"
    heal_folder.mkdir(mode=0o700, exist_ok=True)
    pair = user_keys(heal_folder, ("heal",))
    return {
        "heal/key": pair["ssh/heal"],
        "heal/key.pub": pair["ssh/heal.pub"],
        "heal/cluster.yaml": source.read_bytes(),
    }
