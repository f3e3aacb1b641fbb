"""Starts OpenStack's Redfish emulator: sushy.py PORT CERTIFICATE KEY AUTH STATE.

Its driver without virtual machines has no BIOS: the attributes of its libvirt driver are a table here. Documents,
registry, login and errors are the emulator's.
"""

import os
import sys

ATTRIBUTES = {
    "BootMode": "Uefi", "EmbeddedSata": "Raid", "L2Cache": "10x256 KB", "NicBoot1": "NetworkBoot", "NumCores": "10",
    "QuietBoot": "true", "ProcTurboMode": "Enabled", "SecureBootStatus": "Enabled", "SerialNumber": "QPX12345",
    "SysPassword": "",
}  # fmt: skip


def main():
    """Serve until the end of the test."""
    port, certificate, key, auth, state = sys.argv[1:]
    os.environ.pop("SUSHY_EMULATOR_CONFIG", None)
    from sushy_tools.emulator import main as emulator
    from sushy_tools.emulator.resources.systems.fakedriver import FakeDriver

    FakeDriver.get_bios = lambda _self, _identity: dict(ATTRIBUTES)
    FakeDriver.set_bios = lambda _self, _identity, attributes: ATTRIBUTES.update(attributes)
    app = emulator.app
    app.configure(
        config_file=None,
        extra_config={
            "SUSHY_EMULATOR_FAKE_DRIVER": True,
            "SUSHY_EMULATOR_AUTH_FILE": auth,
            "SUSHY_EMULATOR_STATE_DIR": state,
        },
    )
    app.run(host="127.0.0.1", port=int(port), ssl_context=(certificate, key), threaded=True)


if __name__ == "__main__":
    main()
