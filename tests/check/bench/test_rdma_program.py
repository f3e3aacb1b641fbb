"""Both ends of a pair on this machine, with perftest's programs where they are, and what stands for them elsewhere."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import clusterwright.onhost.bench as folder
from clusterwright.check.bench.rdma.rails import Rail
from clusterwright.check.bench.rdma.verbs import GDR, PING, orders, ping_s, readings
from clusterwright.edge import bundler

HERE = Path(__file__).parent
PROGRAM = Path(folder.__file__).parent / "rdma.py"
LO = "127.0.0.1"
TOOLS = ("ib_send_bw", "ib_read_bw", "ib_write_bw", "ib_send_lat", "ib_read_lat", "ibping")
ROCE = Rail(0, "mlx5_0", 1, "Ethernet", 0, 3, 0)
IB = Rail(1, "mlx5_1", 1, "IB", 5, None, None)


@pytest.fixture
def stand_ins(tmp_path):
    """`stand_ins(told)`: the environment in which every program is found, and is so."""
    for name in TOOLS:
        text = (HERE / "perftest_stand_in.py").read_text()
        (tmp_path / name).write_text(f"#!{sys.executable}\n{text}")
        (tmp_path / name).chmod(0o755)

    def environment(**told):
        path = f"{tmp_path}:{os.environ['PATH']}"
        return os.environ | {"PATH": path, "RECORDED": str(HERE / "recorded"), "STAND_IN": json.dumps(told)}

    return environment


def begun(given, environment):
    """The program under way."""
    process = subprocess.Popen(
        [sys.executable, PROGRAM], env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdin.write(json.dumps(given))
    process.stdin.close()
    process.stdin = None
    return process


def met(rails, port, environment, *, ping=False):
    """What server and client say of each rail."""
    tests = [
        orders(rail, rail, LO, port + 1 + 8 * place, ping=ping and rail.gid is None)
        for place, rail in enumerate(rails)
    ]
    given = {"address": LO, "port": port, "rails": tests, "test_s": 60, "limit_s": 240}
    ends = [begun({"role": role, **given}, environment) for role in ("server", "client")]
    outs = [each.communicate(timeout=280) for each in reversed(ends)][::-1]
    assert [each.returncode for each in ends] == [0, 0], outs
    return [json.loads(out)["rails"] for out, _ in outs]


def figures(rail, said, place=0):
    """By quantity: a value, or why there is none."""
    both = said[0][place], said[1][place]
    return {each.test.quantity: each.reason or each.value for each in readings(rail, rail, both)}


def test_two_rails_are_measured_at_the_same_time(stand_ins):
    """Bandwidths, latencies, GPUDirect on the one that has a GPU, ibping on that over InfiniBand."""
    said = met([ROCE, IB], 21900, stand_ins(cuda=True), ping=True)

    first, second = figures(ROCE, said), figures(IB, said, 1)
    line = pytest.approx(92.41e9 / 8)
    assert first == {
        "send bandwidth": line, "read bandwidth": line, GDR: line,
        "send latency": pytest.approx(1.05e-6), "read latency": pytest.approx(1.05e-6),
    }  # fmt: skip
    assert second == {name: value for name, value in first.items() if name != GDR}
    assert PING not in said[1][0]
    assert ping_s(said[1][1]) == pytest.approx(20e-6)


@pytest.mark.parametrize(
    ("told", "quantity", "reason"),
    [
        (
            {"device": "mlx5_7"},
            "send bandwidth",
            "not believed: ib_send_bw went by Device mlx5_7, not mlx5_0",
        ),
        ({"fails": "ib_read_bw"}, "read bandwidth", "Unable to find the Infiniband/RoCE device"),
        ({}, GDR, "Invalid Command or flag"),
    ],
)
def test_a_figure_that_cannot_be_believed_is_none(stand_ins, told, quantity, reason):
    """Another device than asked, a program that cannot start, one that was not built with CUDA."""
    rail = ROCE if quantity == GDR else Rail(0, "mlx5_0", 1, "Ethernet", 0, 3, None)
    found = figures(rail, met([rail], 22000, stand_ins(**told)))

    assert reason in found[quantity]


def test_a_link_of_another_type_is_not_believed(stand_ins):
    """RoCE was declared, and the program went by InfiniBand."""
    said = met([IB], 22100, stand_ins())
    roce = Rail(1, "mlx5_1", 1, "Ethernet", 5, 3, None)

    assert figures(roce, said)["send bandwidth"] == (
        "not believed: ib_send_bw went by Link type IB, not Ethernet"
    )


def test_a_server_whose_client_never_comes_ends_and_leaves_nothing(stand_ins, tmp_path):
    """Within its patience, with the programs that it began."""
    environment = stand_ins()
    text = PROGRAM.read_text().replace("PATIENCE_S = 15.0", "PATIENCE_S = 1.0")
    (tmp_path / "rdma.py").write_text(text)
    given = {
        "role": "server",
        "address": LO,
        "port": 22200,
        "rails": [orders(ROCE, ROCE, LO, 22201, ping=False)],
    }
    done = subprocess.run(
        [sys.executable, tmp_path / "rdma.py"], input=json.dumps(given | {"limit_s": 5}), env=environment,
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert "timed out" in done.stderr
    alive = [
        Path(each, "cmdline").read_bytes()
        for each in Path("/proc").glob("[0-9]*")
        if Path(each, "cmdline").exists()
    ]
    assert not any(str(tmp_path).encode() in line for line in alive)


def test_ports_are_those_that_the_check_reads(stand_ins):
    """By its own probe; and whether perftest knows CUDA. There is no device for ibping here."""
    probe = bundler.probe("rdma")
    process = begun({"role": "ports", "probe": probe}, stand_ins(cuda=True))
    found = json.loads(process.communicate(timeout=100)[0])

    assert "ports" in json.loads(found["ports"])
    assert found["cuda"] is True
    assert found["ibping"] is bool(list(Path("/dev/infiniband").glob("umad*")))


@pytest.mark.skipif(
    not shutil.which("ib_send_bw"), reason="perftest is not installed (apt-get install perftest)"
)
@pytest.mark.parametrize("place", range(4))
def test_the_real_programs_take_our_options(place):
    """They get as far as looking for the device, which is not there."""
    argv = orders(ROCE, ROCE, LO, 22301, ping=False)[place]["client"]
    assert "no-such-device" not in argv
    done = subprocess.run(
        ["no-such-device" if word == "mlx5_0" else word.replace("mlx5_0", "no-such-device") for word in argv],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    said = done.stdout + done.stderr
    assert "nrecognized" not in said
    assert "device" in said
    assert done.returncode != 0
