"""A BMC for tests: OpenIPMI's emulator `ipmi_sim`, read by the real ipmitool over LAN."""

import contextlib
import shutil
import socket
import struct
import subprocess
from pathlib import Path

import pytest

MISSING = [tool for tool in ("ipmi_sim", "ipmitool") if not shutil.which(tool)]
TEMPERATURE, FAN, PROCESSOR = 0x01, 0x04, 0x07
CPU, INLET, FAN1 = 1, 2, 3
SENSORS = (
    (CPU, "CPU1 Temp", TEMPERATURE, 95, 71),
    (INLET, "Inlet Temp", TEMPERATURE, 45, 24),
    (FAN1, "FAN1", FAN, 250, 60),
)
GOING_HIGH, GOING_LOW, THROTTLED = 0x59, 0x52, 0x0A
LAN = """name "sim"
console 127.0.0.1 {console}
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 {lan}
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  user 1 true "" "test" user 10 none md2 md5 straight
  user 2 true "admin" "test" admin 10 none md2 md5 straight
"""


def _record(number, name, kind, limit):
    """Return the sensor's record (IPMI 2.0, 43.1): one degree, or 60 RPM, a count; fans have lower limits."""
    is_fan = kind == FAN
    low = 20 if is_fan else 0
    body = [
        0x20, 0, number, 0x1D if is_fan else 0x03, number, 0x7F, 0x68, kind, 1, 0x80, 0x02, 0x80, 0x02, 0x18, 0x18, 0,
        0x12 if is_fan else 1, 0, 0, 60 if is_fan else 1, 0, 0, 0, 0, 0, 0, 40, 80, 10, 255, 0,
        limit + 5, limit, limit - 5, 0, low, low + 2, 2, 2, 0, 0, 0, 0xC0 | len(name), *name.encode(),
    ]  # fmt: skip
    return [number, 0, 0x51, 1, len(body), *body]


def _commands():
    yield "mc_setbmc 0x20"
    yield "mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr"
    yield "sel_enable 0x20 1000 0x0a"
    for number, name, kind, limit, value in SENSORS:
        low = 20 if kind == FAN else 0
        yield f"sensor_add 0x20 0 {number} {kind} 1"
        yield "main_sdr_add 0x20 " + " ".join(map(hex, _record(number, name, kind, limit)))
        yield f"sensor_set_event_support 0x20 0 {number} enable scanning per-state" + " 000111111111111" * 4
        limits = f"{limit + 5} {limit} {limit - 5} {low + 2} {low} 0"
        yield f"sensor_set_threshold 0x20 0 {number} settable 111111 {limits}"
        yield f"sensor_set_value 0x20 0 {number} {value} 0"
    yield "mc_enable 0x20"


class Bmc:
    """A running emulator: its clock and events are set, its answers are those of ipmitool."""

    def __init__(self, lan, console):
        self.lan, self.console = lan, console

    def ipmitool(self, *words):
        """Run ipmitool, and return what it prints."""
        argv = [
            "ipmitool",
            "-I",
            "lan",
            "-H",
            "127.0.0.1",
            "-p",
            str(self.lan),
            "-U",
            "admin",
            "-P",
            "test",
            *words,
        ]
        return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=30).stdout

    def command(self, line):
        """Send a command to the emulator's console."""
        with socket.create_connection(("127.0.0.1", self.console), 10) as connection:
            connection.settimeout(5)
            connection.sendall(f"{line}\n".encode())
            answer = b""
            while answer.count(b"> ") < 2:
                answer += connection.recv(4096)

    def event(self, when, kind, number, event, reading, limit, *, ends=False):
        """Add an event at a time of the BMC's clock: `11/27/26 02:10:00`."""
        self.ipmitool("sel", "time", "set", when)
        direction = (0x80 if ends else 0) | (0x6F if kind == PROCESSOR else 0x01)
        data = [*struct.pack("<I", 0), 0x20, 0, 4, kind, number, direction, event, reading, limit]
        self.command("sel_add 0x20 0x02 " + " ".join(map(hex, data)))


def _free(kind):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(folder: Path):
    """Start an emulator with its state in a folder."""
    if MISSING:
        pytest.skip(f"no {MISSING[0]} (apt-get install openipmi ipmitool)")
    lan, console = _free(socket.SOCK_DGRAM), _free(socket.SOCK_STREAM)
    (folder / "state").mkdir()
    (folder / "lan.conf").write_text(LAN.format(lan=lan, console=console))
    (folder / "commands").write_text("\n".join([*_commands(), ""]))
    argv = ["ipmi_sim", "-c", folder / "lan.conf", "-f", folder / "commands", "-s", folder / "state", "-n"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(argv, stdin=quiet, stdout=quiet, stderr=quiet) as process:
        try:
            bmc = Bmc(lan, console)
            for _ in range(10):  # not its console, where a client that leaves at once ends it by SIGPIPE
                with contextlib.suppress(subprocess.CalledProcessError):
                    bmc.ipmitool("sel", "info")
                    break
            yield bmc
        finally:
            process.terminate()
            process.wait(10)
