"""A small server that speaks the protocol of Zabbix's trapper, and can be told to answer otherwise."""

import json
import socket
import struct
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

MARK = b"ZBXD\x01"


@dataclass
class Trapper:
    """Speaks the protocol: takes values of the host `lab`; `answer` is what is sent in place of its own."""

    port: int = 0
    got: list = field(default_factory=list)
    answer: bytes | None = None
    refuses: str = ""  # an item that is not there

    def texts(self):
        """The values of all that was taken."""
        return [one["value"] for one in self.got]


def framed(body):
    """As Zabbix frames it."""
    data = json.dumps(body).encode()
    return MARK + struct.pack("<Q", len(data)) + data


def read(connection, length):
    """Exactly so many bytes."""
    data = b""
    while len(data) < length:
        more = connection.recv(length - len(data))
        if not more:
            raise ConnectionError
        data += more
    return data


def serve(trapper, connection):
    """One request."""
    with connection, suppress(ConnectionError):
        if read(connection, 5) != MARK:
            return
        asked = json.loads(read(connection, struct.unpack("<Q", read(connection, 8))[0]))
        assert asked["request"] == "sender data"
        taken = [one for one in asked["data"] if one["host"] == "lab" and one["key"] != trapper.refuses]
        counts = (
            f"processed: {len(taken)}; failed: {len(asked['data']) - len(taken)}; total: {len(asked['data'])}"
        )
        if trapper.answer is None:
            trapper.got += taken
        said = {"response": "success", "info": f"{counts}; seconds spent: 0.000055"}
        connection.sendall(framed(said) if trapper.answer is None else trapper.answer)


@contextmanager
def trapper_server():
    """A Trapper that listens."""
    trapper = Trapper()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        trapper.port = listener.getsockname()[1]

        def accept():
            with suppress(OSError):
                while True:
                    serve(trapper, listener.accept()[0])

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield trapper
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)
