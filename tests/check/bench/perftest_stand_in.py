"""Stands for perftest's programs and ibping, which need hardware that cannot be had: argv and meeting as of 6.06.

It is installed under each of their names; the last word of argv, where it is no option, is the server's address.
Both ends meet on a real TCP port, as the real ones do, and print the forms in `RECORDED`. `STAND_IN` is a JSON object
of what is not as asked: `device`, `rate` in Gb/s, `cuda` (built with it), `fails` (a program that cannot start).
Forms: the heading of linux-rdma/perftest issue 82 (5.60, RoCE), GPU lines of issue 241, rates of issue 234; latencies
of a public log of ConnectX; ibping of a public log. Its refusals are those that 6.06 prints without a device.
"""

import json
import os
import socket
import sys
from pathlib import Path

RECORDED = Path(os.environ["RECORDED"])
TITLES = {
    "ib_send_bw": "Send BW Test", "ib_read_bw": "RDMA_Read BW Test", "ib_write_bw": "RDMA_Write BW Test",
    "ib_send_lat": "Send Latency Test", "ib_read_lat": "RDMA_Read Latency Test",
}  # fmt: skip
HANDLED = {"--ib-dev", "--ib-port", "--gid-index", "--port", "--duration", "--size", "--iters", "--use_cuda"}


def main():
    """By name."""
    name, told = Path(sys.argv[0]).name, json.loads(os.environ.get("STAND_IN", "{}"))
    if name == "ibping":
        return ping()
    if "--help" in sys.argv:
        show("Usage:\n  ib_send_bw  start a server" + ("\n  --use_cuda=<dev>" if told.get("cuda") else ""))
        return 1
    options = dict(word.split("=", 1) for word in sys.argv[1:] if word.startswith("--") and "=" in word)
    plain = [word for word in sys.argv[1:] if "=" not in word and word not in ("-F", "--report_gbits")]
    if set(options) - HANDLED or len(plain) > 1 or ("--use_cuda" in options and not told.get("cuda")):
        show(f"{name}: unrecognized option\n Invalid Command or flag.")
        return 1
    if told.get("fails") == name:
        show(" Did not detect devices \n If device exists, check if driver is up")
        show(" Unable to find the Infiniband/RoCE device")
        return 1
    if not meet(plain, int(options["--port"])):
        show(f"Couldn't connect to {plain[0]}:{options['--port']}")
        show(" Unable to open file descriptor for socket connection")
        return 1
    say(name, options, told)
    return 0


def meet(plain, port):
    """True when the other end was there."""
    if plain:
        try:
            with socket.create_connection((plain[0], port), 20) as connection:
                connection.recv(1)
        except ConnectionRefusedError:
            return False
        return True
    stars = "*" * 36
    show(f"\n{stars}\n* Waiting for client to connect... *\n{stars}")
    with socket.create_server(("", port)) as listening:
        listening.settimeout(60)
        listening.accept()[0].close()
    return True


def say(name, options, told):
    """Heading and figures."""
    if "--use_cuda" in options:
        show(text("perftest_gpu").replace("{gpu}", options["--use_cuda"]))
    gid = options.get("--gid-index")
    heading = {
        "{title}": TITLES[name], "{device}": told.get("device", options["--ib-dev"]), "{gid}": gid or "0",
        "{link}": "Ethernet" if gid else "IB",
    }  # fmt: skip
    whole = text("perftest_heading")
    for field, value in heading.items():
        whole = whole.replace(field, value)
    rate = text("perftest_rate").replace("{rate}", str(told.get("rate", 92.41)))
    show(whole + (rate if name.endswith("bw") else text("send_lat")))


def ping():
    """A server goes on until it is ended."""
    if "-S" in sys.argv:
        show("ibdebug: running")
        with socket.socket() as never:
            never.bind(("127.0.0.1", 0))
            never.listen()
            never.accept()
    show(text("ibping"))
    return 0


def show(words):
    """At once: a server is ended at any time."""
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def text(name):
    """One recorded form."""
    return (RECORDED / f"{name}.txt").read_text()


sys.exit(main())
