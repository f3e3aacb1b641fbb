"""One end of a pair: how fast bytes go from the client to the server, and back, by iperf3 or by a stream of our own.

Given `role`, `tool`, `address` and `port` of the server, `seconds`, `streams`. The client prints one JSON object
for each direction. Standard library, Python 3.8 or later.
"""

import json
import socket
import sys
import threading
import time
from typing import Any, Dict, List

from clusterwright.onhost.lib import processes

PATIENCE_S = 10.0  # the other end may begin so much later
BLOCK = bytes(1 << 17)
DIRECTIONS = ("there", "back")

Json = Dict[str, Any]


def main() -> int:
    """Serve both directions, or measure them one after the other."""
    given = json.load(sys.stdin)
    end = {"iperf3": (iperf3_server, iperf3_client), "tcp": (tcp_server, tcp_client)}[given["tool"]]
    if given["role"] == "server":
        return int(end[0](given))
    json.dump({way: end[1](given, way) for way in DIRECTIONS}, sys.stdout)
    return 0


def iperf3_server(given: Json) -> int:
    """One server for each direction, and each for one client."""
    limit = 2 * (given["seconds"] + PATIENCE_S)
    argv = ["iperf3", "--server", "--one-off", "--bind", given["address"], "--port"]
    ports = [str(given["port"] + index) for index, _ in enumerate(DIRECTIONS)]
    servers = [processes.start([*argv, port], stdout=processes.DEVNULL) for port in ports]
    try:
        return max(server.wait(limit) for server in servers)
    finally:
        for server in servers:
            server.kill()


def iperf3_client(given: Json, way: str) -> Json:
    """What iperf3 says, less its intervals; tried again until the server is there."""
    argv = ["iperf3", "--json", "--client", given["address"], "--time", str(given["seconds"])]
    argv += ["--port", str(given["port"] + DIRECTIONS.index(way)), "--parallel", str(given["streams"])]
    argv += ["--bind", given["own"], "--omit", "1"] + (["--reverse"] if way == "back" else [])
    until = time.monotonic() + PATIENCE_S
    while True:
        said = parsed(processes.run(argv, merge=True).out)
        if "unable to connect" not in str(said.get("error")) or time.monotonic() > until:
            return {"tool": "iperf3", **said}
        time.sleep(0.1)


def parsed(out: str) -> Json:
    """The parts of iperf3's answer that are read."""
    try:
        said = json.loads(out)
    except ValueError:
        return {"error": "not JSON: " + out[-200:]}
    end = {name: value for name, value in said.get("end", {}).items() if name.startswith("sum")}
    kept = {"version": said.get("start", {}).get("version"), "end": end, "error": said.get("error")}
    return {**kept, "connected": said.get("start", {}).get("connected", [])}


def tcp_server(given: Json) -> int:
    """Takes one connection for each stream and direction: reads all of it, or writes for as long as asked."""
    with socket.create_server((given["address"], given["port"]), backlog=64) as listening:
        listening.settimeout(given["seconds"] + PATIENCE_S)
        for way in DIRECTIONS:
            ends = [listening.accept()[0] for _ in range(given["streams"])]
            if way == "there":
                received = together(ends, receive)
                for end in ends:
                    end.sendall(json.dumps(sum(received)).encode())
            else:
                together(ends, lambda end: send(end, given["seconds"]))
            for end in ends:
                end.close()
    return 0


def tcp_client(given: Json, way: str) -> Json:
    """Bytes of all streams that the receiving end has read, and the seconds that it took."""
    ends = [connect(given) for _ in range(given["streams"])]
    connected = [
        {"local_host": end.getsockname()[0], "remote_host": end.getpeername()[0]} for end in ends[:1]
    ]
    began = time.monotonic()
    if way == "there":
        together(ends, lambda end: send(end, given["seconds"]))
        count = int(json.loads(ends[0].recv(64)))
    else:
        count = sum(together(ends, receive))
    seconds = time.monotonic() - began
    for end in ends:
        end.close()
    return {"tool": "tcp", "bytes": count, "seconds": seconds, "connected": connected}


def connect(given: Json) -> socket.socket:
    """A connection from our own address, as soon as the server is there."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return socket.create_connection(
                (given["address"], given["port"]), given["seconds"] + PATIENCE_S, (given["own"], 0)
            )
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def send(end: socket.socket, seconds: float) -> int:
    """Zeros for so long; then the other end sees the end of it."""
    until, count = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        end.sendall(BLOCK)
        count += len(BLOCK)
    end.shutdown(socket.SHUT_WR)
    return count


def receive(end: socket.socket) -> int:
    """Everything until the other end has said all."""
    count = 0
    while True:
        size = len(end.recv(len(BLOCK)))
        if not size:
            return count
        count += size


def together(ends: List[socket.socket], work: Any) -> List[int]:
    """The work on all ends at the same time."""
    found = [0] * len(ends)

    def each(index: int) -> None:
        found[index] = work(ends[index])

    threads = [threading.Thread(target=each, args=(index,)) for index in range(len(ends))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


if __name__ == "__main__":
    sys.exit(main())
