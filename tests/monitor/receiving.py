"""Receivers on this machine, real ones: HTTP and SMTP, which keep what they got."""

import asyncio
import json
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

OK = {"errcode": 0, "code": 0, "errmsg": "ok"}


@dataclass
class Inbox:
    """What came, with the time; `answer` is what is said to it."""

    port: int = 0
    got: list = field(default_factory=list)
    answer: dict = field(default_factory=lambda: dict(OK))
    status: int = 200

    def until(self, wanted, limit_s=60):
        """The first that fits, or None."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            if found := next((one for one in list(self.got) if wanted(one)), None):
                return found
            time.sleep(0.1)
        return None


@contextmanager
def http_receiver(address="127.0.0.1", port=0):
    """An Inbox of POSTs: path, query, headers, body."""
    inbox = Inbox()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            data = self.rfile.read(int(self.headers["Content-Length"]))
            parts = urlsplit(self.path)
            inbox.got.append({
                "at": time.time(), "path": parts.path, "query": parse_qs(parts.query), "taken": inbox.status == 200,
                "headers": dict(self.headers), "body": json.loads(data) if data else None,
            })  # fmt: skip
            said = json.dumps(inbox.answer).encode()
            self.send_response(inbox.status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_args):
            pass

    server = ThreadingHTTPServer((address, port), Handler)
    server.daemon_threads = True
    inbox.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield inbox
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def _session(reader, writer, inbox):
    """One connection, as RFC 5321 has it; as little as a client needs."""

    async def say(text):
        writer.write(f"{text}\r\n".encode())
        await writer.drain()

    letter = {"at": 0.0, "from": "", "to": [], "text": ""}
    await say("220 here")
    while line := (await reader.readline()).decode().strip():
        word = line[:4].upper()
        if word == "DATA":
            await say("354 go on")
            rows = []
            while (row := (await reader.readline()).decode()) not in (".\r\n", ""):
                rows.append(row)
            inbox.got.append({**letter, "at": time.time(), "text": "".join(rows)})
            await say("250 taken")
        elif word == "QUIT":
            await say("221 bye")
            break
        else:
            if word == "MAIL":
                letter = {**letter, "from": line}
            if word == "RCPT":
                letter = {**letter, "to": [*letter["to"], line]}
            await say("250 ok")
    writer.close()


@contextmanager
def smtp_receiver():
    """An Inbox of letters."""
    inbox, loop, ready = Inbox(), asyncio.new_event_loop(), threading.Event()
    stop = asyncio.Event()

    async def serve():
        server = await asyncio.start_server(lambda r, w: _session(r, w, inbox), "127.0.0.1", 0)
        inbox.port = server.sockets[0].getsockname()[1]
        ready.set()
        async with server:
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield inbox
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()
