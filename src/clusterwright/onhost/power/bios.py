"""Reads and stages BIOS settings of hosts through the Redfish of their BMCs: a JSON order on stdin, JSON on stdout.

The order has `provider` and `hosts` as the power service has them, `attributes` (names and values) and `stage`. The
answer has a table for each host: `error`, or what DMTF's schemas Bios and AttributeRegistry have of its attributes.
"""

import json
import sys
from types import SimpleNamespace
from typing import Any, Dict, List
from urllib.error import HTTPError

from clusterwright.onhost.lib.safe_reader import DATA_ERRORS, DOCUMENT_BYTES, parse_document
from clusterwright.onhost.power.providers.redfish import ROOT, Switch

ON_RESET = "OnReset"
CHANGED = 412  # Precondition Failed: another client changed the document
SETTINGS, APPLY_TIME = "@Redfish.Settings", "@Redfish.SettingsApplyTime"
REGISTRY_BYTES = 16 << 20  # those of large servers have megabytes
HIDDEN = "Password"  # the type of attributes that are neither read nor written


def main() -> int:
    """Read or set BIOS settings of hosts by the JSON order on stdin, and print the answer as JSON; return 0."""
    order = json.load(sys.stdin.buffer)
    sys.stdout.write(json.dumps(answer(order)) + "\n")
    return 0


def answer(order: Dict[str, Any]) -> Dict[str, Dict[str, Any]]:
    """Return for each host of an order its BIOS settings, or with `stage` an empty table, or the error."""
    client = BiosClient(
        SimpleNamespace(provider=order["provider"], hosts=order["hosts"]), order["attributes"]
    )
    return client.run(sorted(order["hosts"]), is_staged=order["stage"])


class BiosClient(Switch):
    """Reads and stages BIOS settings; passwords, certificates and time limits are those of power control."""

    def __init__(self, settings: Any, attributes: Dict[str, Any]) -> None:
        super().__init__(settings)
        self.attributes = attributes
        self.tables: Dict[str, Dict[str, Any]] = {}

    def run(self, hosts: List[str], is_staged: bool) -> Dict[str, Dict[str, Any]]:
        """Read the BIOS settings of the hosts or, with `is_staged`, write them for the next boot.

        Return for each host a table of its settings, or `error`.
        """
        action = self._stage if is_staged else self._read
        errors = self._map(hosts, lambda host: self.respond(host, lambda: action(host)))
        return {host: {"error": error} if error else self.tables[host] for host, error in errors.items()}

    def _read(self, host: str) -> str:
        system = self.get(host, self.system(host))
        if "Bios" not in system:
            return f"{self.address(host)} has no BIOS settings in its Redfish"
        bios = self.get(host, system["Bios"]["@odata.id"])
        entries = self._registry(host, str(bios.get("AttributeRegistry", "")))
        hidden = {name for name, entry in entries.items() if entry.get("Type") == HIDDEN}
        table = {
            "attributes": {name: value for name, value in bios["Attributes"].items() if name not in hidden},
            "entries": {name: entries[name] for name in self.attributes if name in entries},
            "has_registry": bool(entries),
            "pending": self._pending(host, bios, hidden),
        }
        if len(json.dumps(table)) > DOCUMENT_BYTES:
            return f"the BIOS settings of {self.address(host)} exceed {DOCUMENT_BYTES} bytes"
        self.tables[host] = table
        return ""

    def _pending(self, host: str, bios: Dict[str, Any], hidden: Any) -> Dict[str, Any]:
        """Return the settings that differ at the next boot, without the names in `hidden`.

        Empty if the BMC has no settings object, so that Redfish can only read the settings.
        """
        if SETTINGS not in bios:
            return {}
        document = self.get(host, bios[SETTINGS]["SettingsObject"]["@odata.id"])
        return {
            name: value
            for name, value in (document.get("Attributes") or {}).items()
            if name not in hidden and value is not None and value != bios["Attributes"].get(name)
        }

    def _registry(self, host: str, name: str) -> Dict[str, Dict[str, Any]]:
        """Return the attributes that the BMC's registry describes, by name; none without a registry.

        The registry `name` is used, else the first with a similar name; of its languages, English.
        """
        root = self.get(host, ROOT)
        if not name or "Registries" not in root:
            return {}
        members = self.get(host, root["Registries"]["@odata.id"]).get("Members", [])
        paths = [str(member["@odata.id"]) for member in members]
        exact = [path for path in paths if path.rstrip("/").rpartition("/")[2] == name]
        similar = [path for path in paths if "biosattributeregistry" in path.lower()]
        for path in (exact + similar)[:1]:
            locations = self.get(host, path).get("Location", [])
            uris = [entry["Uri"] for entry in locations if str(entry.get("Language", "en")).startswith("en")]
            document = self.send(host, str(uris[0]), "GET", limit=REGISTRY_BYTES)[0] if uris else {}
            entries = (document.get("RegistryEntries") or {}).get("Attributes", [])
            return {str(entry["AttributeName"]): entry for entry in entries}
        return {}

    def _stage(self, host: str) -> str:
        """Write the attributes into the settings for the next boot; return the error, or an empty text.

        Nothing is written if Redfish can only read the settings, or another client changed them meanwhile.
        """
        bios = self.get(host, self.get(host, self.system(host))["Bios"]["@odata.id"])
        if SETTINGS not in bios:
            return f"{self.address(host)} has BIOS settings that Redfish can only read"
        path = bios[SETTINGS]["SettingsObject"]["@odata.id"]
        document, etag = self.send(host, path, "GET")
        body: Dict[str, Any] = {"Attributes": self.attributes}
        if ON_RESET in bios[SETTINGS].get("SupportedApplyTimes", ()):
            body[APPLY_TIME] = {"@odata.type": "#Settings.v1_3_0.PreferredApplyTime", "ApplyTime": ON_RESET}
        try:
            self.send(host, path, "PATCH", body, etag=etag or str(document.get("@odata.etag") or ""))
        except HTTPError as error:
            if error.code == CHANGED:
                return f"another client changed the settings of {self.address(host)}: nothing was written"
            return _reason(error) or self._denied(host, error)
        self.tables[host] = {}
        return ""


def _reason(error: HTTPError) -> str:
    """Return the messages of a Redfish error; "" if it has none."""
    try:
        document = parse_document(error.read())["error"]
        messages = document.get("@Message.ExtendedInfo") or [{"Message": document.get("message", "")}]
        return "; ".join(str(message.get("Message", "")) for message in messages).strip("; ")
    except DATA_ERRORS:
        return ""


if __name__ == "__main__":
    sys.exit(main())
