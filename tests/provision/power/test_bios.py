"""BIOS settings through Redfish: our program against emulators over TLS; Slurm answers by text."""

import contextlib
import importlib.util
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.provision.power.conftest import SYSTEM, Controller

from clusterwright.config.load import cluster_of
from clusterwright.config.names import expand
from clusterwright.config.reader import read
from clusterwright.edge.fakes import FakeClock
from clusterwright.edge.processes import CommandResult, run
from clusterwright.errors import WrightError
from clusterwright.onhost.power import bios
from clusterwright.onhost.power.providers import redfish
from clusterwright.onhost.provision.reboots import BOOT_ID
from clusterwright.provision.bios import BiosApply, BiosHosts, plan_changes

EXAMPLE = Path(__file__).parents[3] / "examples" / "a100" / "cluster.yaml"
BIOS, SETTINGS, REGISTRY = (
    f"{SYSTEM}/Bios",
    f"{SYSTEM}/Bios/Settings",
    "/redfish/v1/Registries/BiosAttributeRegistry",
)
ENTRIES = [
    {
        "AttributeName": "SriovGlobalEnable", "Type": "Enumeration",
        "Value": [{"ValueName": "Enabled"}, {"ValueName": "Disabled"}],
    },
    {"AttributeName": "NumaNodesPerSocket", "Type": "Integer", "LowerBound": 1, "UpperBound": 4},
    {"AttributeName": "AcpiWatchdog", "Type": "Boolean"},
    {"AttributeName": "AssetTag", "Type": "String", "MaxLength": 8},
    {"AttributeName": "ProcCores", "Type": "Integer", "ReadOnly": True},
    {"AttributeName": "SetupPassword", "Type": "Password"},
]  # fmt: skip
NODES = [f"gpu-node{number}" for number in range(1, 5)]
FIRST = {
    "SriovGlobalEnable": "Disabled", "NumaNodesPerSocket": 1, "AcpiWatchdog": False, "AssetTag": "a", "ProcCores": 64,
    "SetupPassword": "hidden",
}  # fmt: skip


class BiosController(Controller):
    """A controller whose settings wait for a boot, with ETags; `mood` "stubborn" loses them, "racing" changes them."""

    def __init__(self, certificate, key, *, mood="well"):
        self.attributes, self.pending, self.version, self.written = dict(FIRST), {}, 1, []
        super().__init__(certificate, key, mood=mood)

    def boot(self):
        """Take over what waits."""
        if self.mood != "stubborn":
            self.attributes.update(self.pending)
        self.pending = {}

    def answer(self, method, path, body, token):
        """Bios, its settings object, and the registry; all else is the controller's."""
        status, headers, document = super().answer(method, path, body, token)
        if status == 401 or path.endswith("/Systems"):
            return status, headers, document
        if path == "/redfish/v1/":
            return 200, {}, document | {"Registries": {"@odata.id": "/redfish/v1/Registries"}}
        if path == SYSTEM:
            return 200, {}, document | {"Bios": {"@odata.id": BIOS}}
        if path == SETTINGS:
            return self._settings(method, body)
        return 200, {}, {
            BIOS: {
                "Attributes": self.attributes,
                "AttributeRegistry": "BiosAttributeRegistry",
                "@Redfish.Settings": {
                    "SettingsObject": {"@odata.id": SETTINGS}, "SupportedApplyTimes": ["OnReset", "Immediate"],
                },
            },
            "/redfish/v1/Registries": {"Members": [{"@odata.id": REGISTRY}]},
            REGISTRY: {"Location": [{"Language": "en", "Uri": f"{REGISTRY}/en.json"}]},
            f"{REGISTRY}/en.json": {"RegistryEntries": {"Attributes": ENTRIES}},
        }[path]  # fmt: skip

    def _settings(self, method, body):
        etag = f'W/"{self.version}"'
        if method == "GET":
            self.version += self.mood == "racing"
            return 200, {"ETag": etag}, {"Attributes": self.attributes | self.pending}
        if self.headers["If-Match"] != etag:
            return 412, {}, {"error": {"message": "changed"}}
        self.pending.update(body["Attributes"])
        self.written.append(body)
        return 202, {"Location": "/redfish/v1/TaskService/Tasks/1"}, {"TaskState": "New"}


class Site:
    """A Remote of the control host and four nodes: programs run here, Slurm and the nodes answer by text."""

    sudo = False

    def __init__(self, ports, controllers=()):
        self.ports, self.controllers, self.jobs, self.reasons, self.boots = ports, controllers, {}, {}, {}
        self.rebooted, self.late = [], ""  # `late` gets a job in the moment of its drain

    def run(self, host, command, *, stdin=b"", timeout_s=60):
        """Run our program, or answer."""
        if stdin:
            for number, port in enumerate(self.ports):
                stdin = stdin.replace(b'"10.9.0.%d"' % (11 + number), b'"127.0.0.1:%d"' % port)
            return run(("sh", "-c", command), stdin=stdin, timeout_s=timeout_s)
        return CommandResult((), 0, self._answer(host, command), "", 0.0)

    def _answer(self, host, command):
        words = dict(word.split("=", 1) for word in shlex.split(command) if "=" in word)
        if BOOT_ID in command:
            return str(self.boots.get(host, 0))
        if "systemctl" in command:
            self.boots[host] = self.boots.get(host, 0) + 1
            self.rebooted.append(host)
            self.controllers[int(host[-1]) - 1].boot()
        elif command.startswith("squeue"):
            return "".join(f"{job}|ann|RUNNING|1|2|1|{node}|None\n" for node, job in self.jobs.items())
        elif command.startswith("sinfo"):
            states = {node: "drained" if node in self.reasons else "idle" for node in NODES}
            return "".join(
                f"{node}|{state}|{self.reasons.get(node, 'none')}\n" for node, state in states.items()
            )
        elif command.startswith("scontrol show"):
            starts = {node: f"2026-11-27T00:00:{self.boots.get(node, 0):02}" for node in NODES}
            return "".join(
                f"NodeName={node} State=IDLE SlurmdStartTime={start}\n" for node, start in starts.items()
            )
        else:
            for node in expand(words["NodeName"]):
                self.reasons.pop(node, None)
                if words["State"] == "DRAIN":
                    self.reasons[node] = words["Reason"]
                    self.jobs.update({node: "9"} if node == self.late else {})
        return ""


@pytest.fixture
def cluster(identity, tmp_path):
    """The A100 example with BMCs."""
    password = tmp_path / "bmc.password"
    password.write_text("secret\n")
    password.chmod(0o600)
    source = read(EXAMPLE.read_bytes(), "cluster.yaml")
    source.values["slurm"] = {
        "power_saving": {
            "idle": "1h",
            "provider": {
                "kind": "redfish", "bmc": {"a100": "10.9.0.11"}, "user": "slurm", "password_file": str(password),
                "authority": str(identity[0]),
            },
        }
    }  # fmt: skip
    return cluster_of(source)


@pytest.fixture
def site(identity, cluster):
    """`site(mood...)` starts controllers of gpu-node1, gpu-node2, ...; returns their BIOS and them."""
    started = []

    def start(*moods):
        started.extend(BiosController(*identity, mood=mood) for mood in moods)
        ports = [int(controller.address.rpartition(":")[2]) for controller in started]
        return BiosHosts(cluster, Site(ports, started)), started

    yield start
    for controller in started:
        controller.close()


def test_values_are_planned_by_the_registry_of_the_board(site):
    """Old and new in the type of the attribute; equal ones are no change; a password is not read."""
    client, _controllers = site("well")
    values = {
        "SriovGlobalEnable": "Enabled",
        "NumaNodesPerSocket": "4",
        "AcpiWatchdog": "no",
        "AssetTag": "b",
    }
    tables = client.exchange(["gpu-node1"], values, is_staged=False)
    changes = [(change.name, change.old, change.new) for change in plan_changes(tables, values)]

    assert changes == [
        ("SriovGlobalEnable", "Disabled", "Enabled"),
        ("NumaNodesPerSocket", 1, 4),
        ("AssetTag", "a", "b"),
    ]
    assert "SetupPassword" not in tables["gpu-node1"]["attributes"]


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("SriovGlobalEnabl", "Enabled", "has no setting .*\nfix: did you mean `SriovGlobalEnable`"),
        ("SriovGlobalEnable", "On", "does not take On\nfix: choose one of Enabled, Disabled"),
        ("NumaNodesPerSocket", "8", "does not take 8\nfix: write a number from 1 to 4"),
        ("NumaNodesPerSocket", "two", "does not take two"),
        ("AcpiWatchdog", "2", "fix: choose one of true, false"),
        ("AssetTag", "a" * 9, "fix: write at most 8 characters"),
        ("ProcCores", "32", "is read-only"),
        ("SetupPassword", "x", "has no setting"),
    ],
)
def test_what_the_bios_does_not_take_refuses_the_plan(site, name, value, reason):
    """Unknown and read-only names, values outside of the registry; nothing is written."""
    client, (controller,) = site("well")
    values = {name: value, "AssetTag": "b"} | {name: value}
    tables = client.exchange(["gpu-node1"], values, is_staged=False)

    with pytest.raises(WrightError, match=rf"(?s)bios-setting.*{reason}"):
        plan_changes(tables, values)
    assert controller.written == []


def _apply(client, hosts, values):
    """Plan and make changes; return the troubles and what was reported."""
    reports = []
    changes = plan_changes(client.exchange(hosts, values, is_staged=False), values)
    work = BiosApply(client, FakeClock(), reports.append, "t", boot_s=10)
    return work.run(changes), reports


def test_settings_are_written_verified_after_the_boot_and_the_hosts_resumed(site):
    """With the ETag, for the next reset; drained before, in service after."""
    client, controllers = site("well", "well")
    troubles, reports = _apply(client, NODES[:2], {"SriovGlobalEnable": "Enabled", "NumaNodesPerSocket": "4"})

    assert troubles == {}
    assert [controller.attributes["NumaNodesPerSocket"] for controller in controllers] == [4, 4]
    body = controllers[0].written[0]
    assert body["Attributes"] == {"SriovGlobalEnable": "Enabled", "NumaNodesPerSocket": 4}
    assert body["@Redfish.SettingsApplyTime"]["ApplyTime"] == "OnReset"
    assert client.remote.rebooted == NODES[:2]
    assert client.remote.reasons == {}
    assert "BIOS settings written" in " ".join(reports)


def test_a_host_with_jobs_is_left_as_it_is(site):
    """Those that run before, and one that starts in the moment of the drain."""
    client, controllers = site("well", "well", "well")
    client.remote.jobs = {"gpu-node1": "7"}
    client.remote.late = "gpu-node2"
    troubles, _reports = _apply(client, NODES[:3], {"AssetTag": "b"})

    assert {host: text.partition(":")[0] for host, text in troubles.items()} == {
        "gpu-node1": "jobs 7 run on the host",
        "gpu-node2": "jobs 9 run on the host",
    }
    assert [len(controller.written) for controller in controllers] == [0, 0, 1]
    assert client.remote.rebooted == ["gpu-node3"]
    assert client.remote.reasons == {}


def test_a_setting_that_the_boot_does_not_take_over_leaves_the_host_drained(site):
    """The value after the boot is read, not assumed."""
    client, _controllers = site("stubborn")
    troubles, _reports = _apply(client, ["gpu-node1"], {"AssetTag": "b"})

    assert "AssetTag is a after the boot, not b" in troubles["gpu-node1"]
    assert list(client.remote.reasons) == ["gpu-node1"]


def test_settings_that_another_client_changes_meanwhile_are_not_overwritten(site):
    """412 Precondition Failed: no boot, and the host is in service again."""
    client, (controller,) = site("racing")
    troubles, _reports = _apply(client, ["gpu-node1"], {"AssetTag": "b"})

    assert "another client changed the settings" in troubles["gpu-node1"]
    assert controller.written == []
    assert client.remote.rebooted == []
    assert client.remote.reasons == {}


def test_an_unreachable_bmc_and_one_without_bios_refuse_the_plan(site):
    """Before anything is written on the others."""
    client, (controller, _silent) = site("well", "silent")
    _silent.close = lambda: None
    _silent.server.shutdown()
    _silent.server.server_close()
    tables = client.exchange(NODES[:2], {"AssetTag": "b"}, is_staged=False)

    with pytest.raises(WrightError, match=r"gpu-node2: .* does not respond"):
        plan_changes(tables, {"AssetTag": "b"})
    assert controller.written == []


def test_a_cluster_without_redfish_is_refused(cluster):
    """And hosts without an address."""
    saving = cluster.slurm.power_saving
    without = cluster.model_copy(update={"slurm": cluster.slurm.model_copy(update={"power_saving": None})})
    with pytest.raises(WrightError, match=r"bios-no-redfish.*\n.*kind: redfish"):
        BiosHosts(without, Site([])).exchange(["gpu-node1"], {}, is_staged=False)
    with pytest.raises(WrightError, match=r"bios-no-redfish.*control: no BMC has an address"):
        BiosHosts(cluster, Site([])).exchange(["control"], {}, is_staged=False)
    assert saving is not None


@pytest.fixture
def emulator(identity, cluster, tmp_path):
    """OpenStack's sushy-tools as the BMC of gpu-node1."""
    if importlib.util.find_spec("sushy_tools") is None:
        pytest.skip("no sushy-tools (pip install sushy-tools)")
    import bcrypt

    hashed = bcrypt.hashpw(b"secret", bcrypt.gensalt(rounds=4)).decode()
    (tmp_path / "htpasswd").write_text(f"slurm:{hashed}\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = Path(__file__).with_name("sushy.py")
    argv = [
        sys.executable,
        str(program),
        str(port),
        *map(str, identity),
        str(tmp_path / "htpasswd"),
        str(tmp_path),
    ]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            for _ in range(100):
                with socket.socket() as probe:
                    if process.poll() is not None or probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.2)
            yield BiosHosts(cluster, Site([port], [type("Booted", (), {"boot": lambda _self: None})()]))
        finally:
            process.terminate()
            process.wait(10)


def test_sushy_tools_takes_and_shows_the_settings(emulator):
    """Read, refused by its registry, written, read again."""
    tables = emulator.exchange(["gpu-node1"], {"ProcTurboMode": "Off"}, is_staged=False)
    with pytest.raises(WrightError, match="choose one of Enabled, Disabled"):
        plan_changes(tables, {"ProcTurboMode": "Off"})
    tables = emulator.exchange(["gpu-node1"], {"NumCores": "12"}, is_staged=False)
    with pytest.raises(WrightError, match="NumCores of gpu-node1 is read-only"):
        plan_changes(tables, {"NumCores": "12"})
    troubles, _reports = _apply(emulator, ["gpu-node1"], {"ProcTurboMode": "Disabled", "BootMode": "Bios"})
    after = emulator.exchange(["gpu-node1"], {}, is_staged=False)["gpu-node1"]["attributes"]

    assert troubles == {}
    assert (after["ProcTurboMode"], after["BootMode"]) == ("Disabled", "Bios")
    assert "SysPassword" not in after


def test_a_bmc_cannot_end_the_reading_of_others(site):
    """Its answers are nested, or hold on to the connection; the error is its own."""
    client, (bad, _good) = site("well", "well")
    document = {}
    for _ in range(50):
        document = {"a": document}
    for answer in (b"[" * 200_000, {"Attributes": document, "Systems": {"@odata.id": "/redfish/v1/Systems"}}):
        bad.answer = lambda *_request, answer=answer: (200, {}, answer)
        tables = client.exchange(NODES[:2], {"AssetTag": "b"}, is_staged=False)

        assert "does not respond as Redfish" in tables["gpu-node1"]["error"]
        assert tables["gpu-node2"]["attributes"]["AssetTag"] == "a"


def test_a_table_that_is_too_large_is_an_error_of_its_host(site):
    """Larger ones of a few BMCs would exceed the output that a program may have."""
    client, (bad, _good) = site("well", "well")
    original = bad.answer

    def large(method, path, body, token):
        if path.endswith("/en.json"):
            return (
                200,
                {},
                {"RegistryEntries": {"Attributes": [{"AttributeName": "AssetTag", "a": "ä" * 900_000}]}},
            )
        return original(method, path, body, token)

    bad.answer = large
    tables = client.exchange(NODES[:2], {"AssetTag": "b"}, is_staged=False)

    assert "bytes" in tables["gpu-node1"]["error"]
    assert tables["gpu-node2"]["attributes"]["AssetTag"] == "a"


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("NumaNodesPerSocket", {"Type": "Integer", "LowerBound": "1"}),
        ("NumaNodesPerSocket", {"Type": "Integer", "ScalarIncrement": "x"}),
        ("AssetTag", {"Type": "String", "MaxLength": "8"}),
        ("SriovGlobalEnable", {"Type": "Enumeration", "Value": 5}),
    ],
)
def test_a_registry_of_other_types_refuses_the_plan(site, name, entry):
    """No traceback: the error names the host and the setting."""
    client, (controller,) = site("well")
    original = controller.answer

    def crafted(method, path, body, token):
        if path.endswith("/en.json"):
            return 200, {}, {"RegistryEntries": {"Attributes": [entry | {"AttributeName": name}]}}
        return original(method, path, body, token)

    controller.answer = crafted
    tables = client.exchange(["gpu-node1"], {name: "2"}, is_staged=False)

    with pytest.raises(WrightError, match=f"(?s)bios-setting.*gpu-node1.*{name}"):
        plan_changes(tables, {name: "2"})


def test_the_reason_of_a_refused_setting_is_read_in_time(identity, cluster, monkeypatch):
    """One byte after the other, of which each comes in time."""
    monkeypatch.setattr(redfish, "LIMIT_S", 0.5)
    with contextlib.closing(BiosController(*identity)) as slow:
        original = slow.answer

        def refuse(method, path, body, token):
            if path == SETTINGS:  # the next request writes them
                slow.mood = "slow refusal"
            return original(method, path, body, token)

        slow.answer = refuse
        provider = cluster.slurm.power_saving.provider.model_dump(mode="json")
        order = {"provider": provider, "hosts": {"n1": {"bmc": slow.address}}}
        began = time.monotonic()
        tables = bios.answer(order | {"attributes": {"AssetTag": "b"}, "stage": True})

    assert "does not respond" in tables["n1"]["error"]
    assert time.monotonic() - began < 4
