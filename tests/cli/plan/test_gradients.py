"""`wright plan gradients`."""

import json

from clusterwright.config.load import job_of
from clusterwright.config.reader import read

SLOW = ("gradients", "--parameters", "25e6", "--step", 4, "--hosts", 4, "--rate", "200Mbit/s")


def test_a_slow_network_needs_8_bits(plan):
    """The network of the bench, whose gradients take as long as a step computes."""
    code, out, _ = plan(*SLOW)

    assert code == 0
    assert "recommended: gradients: {compress: int8, bucket: 4MiB}, the cheapest" in out


def test_what_it_advises_is_a_job_file_s(plan):
    """Each way but the plain one can be copied into one."""
    code, out, _ = plan(*SLOW, "--json")
    job = "name: j\nrecipe: gpt\nnodes: 4\ntime: 30m\n"

    assert code == 0
    ways = [each["method"]["setting"] for each in json.loads(out)["methods"]]
    assert ways[0] == "default"
    assert all(job_of(read(job + way, "job.yaml")).nodes == 4 for way in ways[1:])


def test_a_rate_needs_a_unit(plan):
    """Bits or bytes is a factor of eight."""
    code, _, err = plan("gradients", "--parameters", "25e6", "--step", 4, "--hosts", 4, "--rate", "25")

    assert code == 2
    assert "--rate" in err
