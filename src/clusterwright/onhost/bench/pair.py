"""One end of a pair: measures bytes from the client to the server and back, by iperf3 or a TCP stream of its own.

Input: `role`, `tool`, `address` and `port` of the server, `seconds`, `streams`. The client prints one JSON object
for each direction. Standard library, Python 3.8 or later.
"""

import json
import socket
import sys
import threading
import time
from typing import Any, Dict, List

from clusterwright.onhost.lib import processes

CONNECT_TIMEOUT_S = 10.0  # the server may start this much later
BLOCK = bytes(1 << 17)
DIRECTIONS = ("there", "back")

Json = Dict[str, Any]


def main() -> int:
    """Measure the bandwidth of a pair of hosts, as its server or client by the options on stdin; return the exit code.

    The client measures both directions one after the other, and prints the rates as JSON.
    """
    options = json.load(sys.stdin)
    end = {"iperf3": (iperf3_server, iperf3_client), "tcp": (tcp_server, tcp_client)}[options["tool"]]
    if options["role"] == "server":
        return int(end[0](options))
    json.dump({direction: end[1](options, direction) for direction in DIRECTIONS}, sys.stdout)
    return 0


def iperf3_server(options: Json) -> int:
    """Run one iperf3 server per direction, each for one client; return the largest exit code."""
    limit = 2 * (options["seconds"] + CONNECT_TIMEOUT_S)
    argv = ["iperf3", "--server", "--one-off", "--bind", options["address"], "--port"]
    ports = [str(options["port"] + index) for index, _ in enumerate(DIRECTIONS)]
    servers = [processes.start([*argv, port], stdout=processes.DEVNULL) for port in ports]
    try:
        return max(server.wait(limit) for server in servers)
    finally:
        for server in servers:
            server.kill()


def iperf3_client(options: Json, direction: str) -> Json:
    """Run iperf3's client in the direction and return its report; retry until the server listens."""
    argv = ["iperf3", "--json", "--client", options["address"], "--time", str(options["seconds"])]
    argv += [
        "--port",
        str(options["port"] + DIRECTIONS.index(direction)),
        "--parallel",
        str(options["streams"]),
    ]
    argv += ["--bind", options["own"], "--omit", "1"] + (["--reverse"] if direction == "back" else [])
    deadline = time.monotonic() + CONNECT_TIMEOUT_S
    while True:
        report = parsed(processes.run(argv, merge=True).out)
        if "unable to connect" not in str(report.get("error")) or time.monotonic() > deadline:
            return {"tool": "iperf3", **report}
        time.sleep(0.1)


def parsed(out: str) -> Json:
    """Parse iperf3's JSON report; return version, sums, connections and error, without intervals."""
    try:
        report = json.loads(out)
    except ValueError:
        return {"error": "not JSON: " + out[-200:]}
    end = {name: value for name, value in report.get("end", {}).items() if name.startswith("sum")}
    summary = {"version": report.get("start", {}).get("version"), "end": end, "error": report.get("error")}
    return {**summary, "connected": report.get("start", {}).get("connected", [])}


def tcp_server(options: Json) -> int:
    """Serve first the direction to the server, then the direction back; return the exit code.

    The bytes of the first are reported to the client. Each direction has one connection per stream.
    """
    with socket.create_server((options["address"], options["port"]), backlog=64) as listening:
        listening.settimeout(options["seconds"] + CONNECT_TIMEOUT_S)
        for direction in DIRECTIONS:
            ends = [listening.accept()[0] for _ in range(options["streams"])]
            if direction == "there":
                received = run_parallel(ends, receive)
                for end in ends:
                    end.sendall(json.dumps(sum(received)).encode())
            else:
                run_parallel(ends, lambda end: send(end, options["seconds"]))
            for end in ends:
                end.close()
    return 0


def tcp_client(options: Json, direction: str) -> Json:
    """Measure one direction as the TCP client: bytes that the receiving end read on all streams, and seconds."""
    ends = [connect(options) for _ in range(options["streams"])]
    connected = [
        {"local_host": end.getsockname()[0], "remote_host": end.getpeername()[0]} for end in ends[:1]
    ]
    began = time.monotonic()
    if direction == "there":
        run_parallel(ends, lambda end: send(end, options["seconds"]))
        count = int(json.loads(ends[0].recv(64)))
    else:
        count = sum(run_parallel(ends, receive))
    seconds = time.monotonic() - began
    for end in ends:
        end.close()
    return {"tool": "tcp", "bytes": count, "seconds": seconds, "connected": connected}


def connect(options: Json) -> socket.socket:
    """Connect to the server from this host's own address, retrying until it listens; return the connection."""
    deadline = time.monotonic() + CONNECT_TIMEOUT_S
    while True:
        try:
            return socket.create_connection(
                (options["address"], options["port"]),
                options["seconds"] + CONNECT_TIMEOUT_S,
                (options["own"], 0),
            )
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def send(end: socket.socket, seconds: float) -> int:
    """Send zeros for `seconds`, close the sending side of the connection, and return the number of bytes sent."""
    deadline, count = time.monotonic() + seconds, 0
    while time.monotonic() < deadline:
        end.sendall(BLOCK)
        count += len(BLOCK)
    end.shutdown(socket.SHUT_WR)
    return count


def receive(end: socket.socket) -> int:
    """Read from a connection until the other end closes it; return the number of bytes read."""
    count = 0
    while True:
        size = len(end.recv(len(BLOCK)))
        if not size:
            return count
        count += size


def run_parallel(ends: List[socket.socket], work: Any) -> List[int]:
    """Run the work on all sockets concurrently, each in a thread; return the results in order."""
    results = [0] * len(ends)

    def work_on(index: int) -> None:
        results[index] = work(ends[index])

    threads = [threading.Thread(target=work_on, args=(index,)) for index in range(len(ends))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


if __name__ == "__main__":
    sys.exit(main())
