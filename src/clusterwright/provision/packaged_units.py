"""The units of the .deb and the .rpm: the texts that `wright apply` installs, with the paths of the package."""

from __future__ import annotations

from clusterwright.provision.roles import exporter, heal, notify


def packaged_units(program: str, library: str) -> dict[str, str]:
    """Return the systemd units of our deb and rpm by name: exporter, heal and notifications.

    They run `wright` at `program` and its modules in `library`. A unit does not start before its settings exist. One
    of the same name in /etc, where `wright apply` writes, replaces it.
    """
    return {
        exporter.UNIT: _once_configured(
            exporter.exporter_unit("control", "/usr/bin/python3", library=library), exporter.SETTINGS
        ),
        heal.UNIT: _once_configured(heal.heal_unit(program), f"{heal.FOLDER}/cluster.yaml"),
        notify.UNIT: _once_configured(notify.notify_unit(library), notify.SETTINGS),
    }


def _once_configured(text: str, settings: str) -> str:
    return text.replace("[Unit]\n", f"[Unit]\nConditionPathExists={settings}\n", 1)
