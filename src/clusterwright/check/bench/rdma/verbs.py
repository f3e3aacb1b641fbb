"""The perftest runs of a pair on one rail: the commands of both ends, and the reading of their outputs; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from clusterwright.check.bench.parsers.ibping import ibping
from clusterwright.check.bench.parsers.perftest import astray, perftest
from clusterwright.check.bench.rdma.rails import Rail

SECONDS = 2
SIZE, SMALL, TURNS = 65536, 8, 2000  # bytes; bytes and iterations of a latency test
PINGS = 100
COMMON = ["-F", "--report_gbits", f"--duration={SECONDS}", f"--size={SIZE}"]
SHORT = ["-F", f"--iters={TURNS}", f"--size={SMALL}"]
GDR = "GPUDirect write bandwidth"


@dataclass(frozen=True, slots=True)
class Test:
    """One perftest program: what it measures; `forward`: whether bytes go from client to server."""

    __test__ = False  # pytest must not collect this class

    quantity: str
    program: str
    options: tuple[str, ...]
    forward: bool = True
    unit: Literal["bytes/s", "s"] = "bytes/s"


TESTS = (
    Test("send bandwidth", "ib_send_bw", tuple(COMMON)),
    Test("read bandwidth", "ib_read_bw", tuple(COMMON), forward=False),
    Test("send latency", "ib_send_lat", tuple(SHORT), unit="s"),
    Test("read latency", "ib_read_lat", tuple(SHORT), forward=False, unit="s"),
)
GDR_TEST = Test(GDR, "ib_write_bw", tuple(COMMON))
PROGRAMS = (*(test.program for test in TESTS), GDR_TEST.program)
QUANTITIES = tuple(test.quantity for test in (*TESTS, GDR_TEST))
PING = "ping"


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of one test, or why its figure does not count."""

    test: Test
    value: float | None
    reason: str = ""
    mtu: str = ""

    def direction(self, ends: tuple[str, str]) -> tuple[str, str]:
        """Return source and target of the bytes; `ends` are server and client."""
        return ends[::-1] if self.test.forward else ends


def orders(server: Rail, client: Rail, address: str, first_port: int, *, ping: bool) -> list[dict[str, Any]]:
    """Return the tests of a rail with both ends' commands; TCP ports count up from the first.

    GPUDirect is tested if both ends have a GPU for it, and ibping runs if `ping` is True.
    """
    tests = []
    for index, test in enumerate((*TESTS, GDR_TEST) if _gdr(server, client) else TESTS):
        commands = [
            [
                test.program,
                *test.options,
                *_device_options(rail, gdr=test is GDR_TEST),
                f"--port={first_port + index}",
            ]
            for rail in (server, client)
        ]
        tests.append({"name": test.quantity, "server": commands[0], "client": [*commands[1], address]})
    if ping:
        ping_commands = [["ibping", "-C", rail.device, "-P", str(rail.port)] for rail in (server, client)]
        to = ["-f", "-c", str(PINGS), "-L", str(server.lid)]
        tests.append({"name": PING, "server": [*ping_commands[0], "-S"], "client": [*ping_commands[1], *to]})
    return tests


def readings(
    server: Rail, client: Rail, outputs: tuple[Mapping[str, Any], Mapping[str, Any]]
) -> Iterator[Reading]:
    """Read one rail's tests from the outputs of its server and client; tests missing in either are left out."""
    for test in (*TESTS, GDR_TEST):
        server_output, client_output = (output.get(test.quantity) for output in outputs)
        if server_output is not None and client_output is not None:
            yield _reading(test, (server, str(server_output["out"])), (client, str(client_output["out"])))


def ping_s(output: Mapping[str, Any]) -> float | None:
    """Return the mean round trip of ibping in seconds; None if it was not run, or no packet came back.

    Raises:
        ValueError: It failed; has its message.
    """
    return ibping(output[PING]["out"]).average_s if PING in output else None


def _gdr(server: Rail, client: Rail) -> bool:
    return server.gpu is not None and client.gpu is not None


def _device_options(rail: Rail, *, gdr: bool) -> list[str]:
    options = [f"--ib-dev={rail.device}", f"--ib-port={rail.port}"]
    options += [] if rail.gid is None else [f"--gid-index={rail.gid}"]
    return [*options, f"--use_cuda={rail.gpu}"] if gdr else options


def _reading(test: Test, server: tuple[Rail, str], client: tuple[Rail, str]) -> Reading:
    """Return the client's figure: the average of a rate, the typical value of a latency.

    Without a value, but with the reason, if its output is no result or an end used another device or link.
    """
    try:
        result = perftest(client[1])
    except ValueError as error:
        return Reading(test, None, str(error))
    for rail, out in (server, client):
        if how := astray(out, replace(rail.path, gpu=test is GDR_TEST)):
            return Reading(test, None, f"not believed: {test.program} went by {how}")
    last = result.results[-1]
    typical = last.average if last.typical is None else last.typical
    value = last.average / 8 if test.unit == "bytes/s" else typical
    return Reading(test, value, mtu=result.settings.get("Mtu", ""))
