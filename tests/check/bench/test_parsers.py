"""What measuring programs print, in the forms of several versions; sources are beside each recorded form.

write_bw_mb: linux-rdma/perftest issue 234, with the average of issue 225. atomic_bw: nminoru/pib issue 4.
send_lat, send_lat_glued: public logs of ConnectX and of soft RoCE.
ibping: a public log, in the form of the program's source.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from clusterwright.check.bench.parsers.fio import fio
from clusterwright.check.bench.parsers.ibping import Ibping, ibping
from clusterwright.check.bench.parsers.iperf3 import Iperf3Stream, stream
from clusterwright.check.bench.parsers.perftest import perftest
from clusterwright.check.bench.parsers.sweep import sweep
from clusterwright.units import MiB


def recorded(name):
    """One recorded output."""
    return (Path(__file__).parent / "recorded" / f"{name}.txt").read_text()


def test_a_bandwidth_of_perftest_is_in_mebibytes_and_has_no_peak_with_a_duration():
    """Its MB are of 2^20 bytes; 0.00 is printed for a peak that was not taken."""
    found = perftest(recorded("write_bw_mb"))

    assert found.results[0].average == pytest.approx(11728.47 * MiB * 8)
    assert found.results[0].peak is None
    assert found.settings["Device"] == "mlx5_0"
    assert (found.settings["Link type"], found.settings["Mtu"]) == ("Ethernet", "4096[B]")


def test_gigabits_are_what_they_say():
    """With --report_gbits."""
    text = recorded("atomic_bw").replace("MB/sec", "Gb/sec")

    assert perftest(text).results[0].average == 1.67e9
    assert perftest(text).results[0].peak == 1.70e9
    assert perftest(recorded("atomic_bw")).results[0].average == pytest.approx(1.67 * 8 * MiB)


def test_latencies_have_their_percentiles():
    """One line for each size."""
    small, larger = perftest(recorded("send_lat")).results

    assert (small.size, larger.size) == (2, 64)
    assert (small.typical, small.average, small.p99) == pytest.approx((0.98e-6, 1.03e-6, 1.21e-6))


def test_columns_that_run_together_are_told_apart():
    """Long latencies leave no blank between two columns."""
    (found,) = perftest(recorded("send_lat_glued")).results

    assert (found.average, found.p99) == pytest.approx((928.05e-6, 1216.65e-6))


def test_ibping_gives_packets_and_times():
    """Nothing came back: no times."""
    assert ibping(recorded("ibping")) == Ibping(10, 10, 17e-6, 20e-6, 23e-6)
    lost = recorded("ibping").replace("10 received, 0%", "0 received, 100%")
    assert ibping(lost) == Ibping(10, 0, None, None, None)


@pytest.mark.parametrize("parse", [perftest, ibping, fio])
def test_what_cannot_be_read_is_quoted(parse):
    """The tool's own last words."""
    with pytest.raises(ValueError, match="Couldn't connect to host"):
        parse("some banner\nCouldn't connect to host")


ENDS = [{"local_host": "10.0.0.1", "remote_host": "10.0.0.2", "socket": 5}]


@pytest.mark.parametrize(
    ("end", "bits"),
    [
        (
            {
                "sum_sent": {"bits_per_second": 9e9, "retransmits": 7},
                "sum_received": {"bits_per_second": 8e9},
            },
            8e9,
        ),
        ({"sum": {"bits_per_second": 8e9}}, 8e9),
    ],
)
def test_iperf3_is_read_at_the_receiving_end(end, bits):
    """The sender counts what lies in its buffers; early releases had one sum."""
    found = stream({"tool": "iperf3", "end": end, "error": None, "connected": ENDS})

    assert found.bytes_per_s == bits / 8
    assert found.ends == (("10.0.0.1", "10.0.0.2"),)
    assert found.retransmits == end.get("sum_sent", {}).get("retransmits")


def test_our_own_stream_is_bytes_over_seconds():
    """Where iperf3 is missing."""
    said = {"tool": "tcp", "bytes": 10, "seconds": 2.0, "connected": ENDS}

    assert stream(said) == Iperf3Stream(5.0, "tcp", (("10.0.0.1", "10.0.0.2"),))


@pytest.mark.parametrize(
    "said", [{"tool": "iperf3", "error": "busy"}, {"tool": "iperf3", "end": {"streams": []}}]
)
def test_a_failed_stream_says_why(said):
    """No figure is made of it."""
    with pytest.raises(ValueError, match=r"busy|no sum: \['streams'\]"):
        stream(said)


@pytest.mark.skipif(not shutil.which("fio"), reason="fio is not installed (apt-get install fio)")
def test_fio_itself_is_read(tmp_path):
    """A real run on this machine: 4 MiB written, so many operations, in nanoseconds."""
    argv = ["fio", "--name=x", f"--directory={tmp_path}", "--rw=write", "--bs=1M", "--size=4M"]
    out = subprocess.run(
        [*argv, "--output-format=json"], capture_output=True, text=True, timeout=60, check=True
    ).stdout

    found = fio(f"a warning\n{out}")
    job = json.loads(out)["jobs"][0]["write"]
    assert (found.bytes_per_s, found.iops) == (job["bw_bytes"], job["iops"])
    assert 0 < found.mean_s < 60


def test_fio_before_3_counts_in_microseconds():
    """`clat` and KiB/s."""
    side = {"iops": 10.0, "bw": 2, "clat": {"mean": 5.0, "percentile": {"99.000000": 9}}}
    out = json.dumps({"jobs": [{"error": 0, "read": {**side, "iops": 0}, "write": side}]})

    found = fio(out)
    assert (found.bytes_per_s, found.mean_s, found.p99_s) == (2048, pytest.approx(5e-6), pytest.approx(9e-6))


def test_a_sweep_is_read_between_warnings():
    """Rows, what the backend does not have, who carried the bytes, and the transport from NCCL's log."""
    row = {
        "kind": "all_reduce", "size": 8, "count": 2, "redop": "sum", "time_us": 5.0, "algbw": 1.0, "busbw": 1.5,
        "wrong": 0, "ranks": 4,
    }  # fmt: skip
    skipped = {"kind": "all_to_all", "size": 8, "skipped": "not there"}
    log = {"log": ["h:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>"]}
    lines = ["FutureWarning: x", *map(json.dumps, (row, skipped, {"carried": {"ib0": 5}}, log))]

    found = sweep("\n".join(lines))
    assert found.largest("all_reduce").bus_bw == 1.5e9
    assert found.largest("broadcast") is None
    assert found.skipped == {"all_to_all": "not there"}
    assert found.carried == {"ib0": 5}
    assert str(found.transport) == "NET/IB mlx5_0"
