"""What runs on the GPUs of a host: here on processors, by real torch, beside the lab's nvidia-smi; and on real GPUs."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import clusterwright.onhost.bench as folder
from clusterwright.check.bench.kinds.gpu import gpu, steps
from clusterwright.check.bench.parsers.gpu import gpus
from clusterwright.check.bench.stage import StageAnswer
from clusterwright.lab import compiling
from clusterwright.lab.gpus import library, state
from clusterwright.lab.gpus.simulated import simulated

pytestmark = pytest.mark.train

PROGRAMS = Path(folder.__file__).parent
BYTES = {"bytes": 2**16}
SMALL = {"reference": {"side": 128}, "matrix": {}, "memory": BYTES, "copies": BYTES, "peers": BYTES}


def small(each):
    """The step as it is for GPUs, but on little data and for a moment."""
    return each | {"asked": {**each["asked"], **SMALL[each["asked"]["do"]], "seconds": 0.1}}


def ran(given, **environment):
    """What the program prints."""
    done = subprocess.run(
        [sys.executable, PROGRAMS / "gpu.py"], input=json.dumps(given), env=os.environ | environment,
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return gpus(json.loads(done.stdout))


def told(worker, asked):
    """All wrong elements that the process of one GPU, here the first processor, tells of."""
    given = json.dumps({"device": "cpu", "index": 0, "count": 1})
    lines = "".join(f"{json.dumps(each)}\n" for each in asked)
    done = subprocess.run(
        [sys.executable, "-c", f"{worker}\nsys.argv[1:] = [{given!r}]\nmain()"], input=lines,
        capture_output=True, text=True, timeout=280, check=True,
    )  # fmt: skip
    return [each for line in done.stdout.splitlines()[1:] for each in json.loads(line)["wrong"]]


@pytest.fixture(scope="module")
def on_processors():
    """Every step by two of them, one after the other or together."""
    return ran(
        {"device": "cpu", "count": 2, "steps": [small(each) for each in steps(None)]}, PATH="/nonexistent"
    )


def test_every_figure_is_measured_and_every_element_is_right(on_processors):
    """Products in three precisions, memory, copies, and from each to each."""
    for each in on_processors.devices:
        assert (each.reason, each.wrong) == ("", ())
        assert {figure.quantity for figure in each.figures} == {
            "bf16 products", "fp16 products", "tf32 products", "memory copy", "memory triad",
            "copies from the host", "copies to the host", "copies to a peer", "copies from a peer",
        }  # fmt: skip
        assert all(figure.value > 0 for figure in each.figures)
    assert {*on_processors.link_rates} == {("gpu 0", "gpu 1"), ("gpu 1", "gpu 0")}


def test_without_nvidia_smi_it_is_said_and_measured_all_the_same(on_processors):
    """How warm they were is not known."""
    assert on_processors.blind == "nvidia-smi is not installed"
    assert on_processors.devices[0].load.temperature_c is None


def test_the_whole_path_holds_processors_against_the_declared_gpus(site, cluster):
    """They are measured twice, and told to be slow by the rates of an A100; alone, so nobody can fail."""

    def answer(_host, part, _asked, _stage):
        given = {"device": "cpu", "count": 1, "steps": [small(each) for each in part.given["steps"]]}
        done = subprocess.run(
            [sys.executable, PROGRAMS / "gpu.py"], input=json.dumps(given),
            capture_output=True, text=True, timeout=280, check=True,
        )  # fmt: skip
        return StageAnswer(0, done.stdout, "")

    alone = site(answer, hosts=["gpu-node1"])
    outcome = gpu(replace(alone, cluster=cluster.model_copy(update={"lab": None})))

    assert {(each.part, each.status.value) for each in outcome.verdicts} == {("gpu 0", "warn")}
    slow = next(each for each in outcome.verdicts if each.observed.startswith("bf16 products"))
    assert "best of 2" in slow.observed
    assert "a100-sxm-80gb's peak" in slow.expected
    assert {each.conditions["gpu"] for each in outcome.measurements} == {"cpu"}


PRODUCT = (
    {"do": "reference", "side": 64},
    {"do": "matrix", "precision": "bf16", "seconds": 0},
)


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        (PRODUCT, "torch.mm(a, b, out=output)"),
        (PRODUCT, "self.product = self.first_factor @ self.second"),
        ([{"do": "memory", "bytes": 4096, "seconds": 0}], "a.copy_(b)"),
        ([{"do": "copies", "bytes": 4096, "seconds": 0}], "target.copy_(source, non_blocking=True)"),
    ],
)
def test_one_wrong_element_is_found_and_named(asked, place):
    """In a result, in the reference itself, in memory, on the way to a GPU."""
    spoilt = {
        "torch.mm(a, b, out=output)": "(torch.mm(a, b, out=output), output[5, 7].add_(64))",
        "self.product = self.first_factor @ self.second": (
            "self.product = self.first_factor @ self.second; self.product[8, 7] += 64"
        ),
        "a.copy_(b)": "(a.copy_(b), a[5].add_(1))",
        "target.copy_(source, non_blocking=True)": "(target.copy_(source), target[5].add_(1))",
    }[place]
    text = (PROGRAMS / "gpu_work.py").read_text().replace('if __name__ == "__main__":\n    main()\n', "")
    assert text.count(place) == 1
    found = told(text.replace(place, spoilt), asked)

    row = {
        "torch.mm(a, b, out=output)": "[5, 7] is",
        "self.product = self.first_factor @ self.second": "[8, 7] is",
    }.get(place, "[5] is")
    assert " elements: " in found[0]
    assert row in found[0]
    assert told(text, asked) == []


def test_a_gpu_that_is_not_there_ends_alone():
    """The others go on; it says what torch sees."""
    found = ran({"device": "cuda", "count": 1, "steps": []}, CUDA_VISIBLE_DEVICES="")

    assert "finds 0 GPUs" in found.devices[0].reason


def test_a_gpu_that_dies_or_hangs_takes_no_other_along(tmp_path):
    """Its last words are kept, and so is what it did before; the limit of a step is its own."""
    (tmp_path / "gpu.py").write_text((PROGRAMS / "gpu.py").read_text())
    (tmp_path / "gpu_work.py").write_text(
        "import json, sys, time\nme = json.loads(sys.argv[1])['index']\nprint('{}', flush=True)\n"
        "for step, _ in enumerate(sys.stdin):\n"
        "    if step and me == 1:\n        sys.exit('CUDA error: uncorrectable ECC error')\n"
        "    if step and me == 2:\n        time.sleep(60)\n"
        "    print(json.dumps({'flop_per_s': 1.0, 'wrong': []}), flush=True)\n"
    )
    asked = [
        {"name": f"matrix {name}", "together": True, "limit_s": limit_s, "asked": {}}
        for name, limit_s in (("bf16", 60), ("fp16", 3))
    ]
    given = json.dumps({"device": "cpu", "count": 3, "steps": asked})
    done = subprocess.run(
        [sys.executable, tmp_path / "gpu.py"],
        input=given,
        capture_output=True,
        text=True,
        timeout=280,
        check=True,
    )

    found = gpus(json.loads(done.stdout)).devices
    assert [each.reason for each in found] == [
        "",
        "CUDA error: uncorrectable ECC error",
        "no response in 3 s",
    ]
    assert [len(each.figures) for each in found] == [2, 1, 1]


@pytest.fixture
def nvidia_smi(cluster, tmp_path):
    """The environment in which the lab's own is found; two GPUs, of which the second is slowed by heat."""
    if compiling.compiler() is None:
        pytest.skip("there is no C compiler here (apt-get install gcc libc6-dev)")
    built, states, root = (tmp_path / name for name in ("library", "gpus", "root"))
    built.mkdir()
    states.mkdir()
    assert library.build(built) == ""
    two = simulated(
        cluster, cluster.nodes["a100"].gpus.model_copy(update={"count": 2}), "0123456789abcdef" * 2
    )
    state.install(two, built / library.SONAME, states, root)
    state.set_values(states, "hot", {"temperature": 91, "clock.reasons": 64}, 1, lasting=False)
    path = f"{root}/usr/bin:{os.environ['PATH']}"
    return {"PATH": path, "LD_LIBRARY_PATH": str(built), "CLUSTERWRIGHT_LAB_GPUS": str(states / state.STATE)}


def test_heat_and_clocks_are_read_while_it_computes(nvidia_smi):
    """By a real nvidia-smi's words: of the GPU that is hot, and of the other one."""
    reference, product = map(small, steps(None)[:2])
    product["asked"]["seconds"] = 10.0  # on a crowded machine nvidia-smi takes seconds
    found = ran({"device": "cpu", "count": 2, "steps": [reference, product]}, **nvidia_smi)

    cool, hot = (each.load for each in found.devices)
    assert found.blind == ""
    assert (hot.temperature_c, hot.reasons) == (91, 64)
    assert (cool.temperature_c, cool.reasons) == (30, 0)
    assert cool.sm_most_hz == 1410e6
    assert cool.power_w


@pytest.mark.gpu
def test_real_gpus_are_measured_and_right():
    """On every CUDA device of this machine, as the bench does it; no processor has such a rate."""
    count = pytest.importorskip("torch").cuda.device_count()
    found = ran({"device": "cuda", "count": count, "steps": steps(None)})

    assert len(found.devices) == count
    for each in found.devices:
        figures = {figure.quantity: figure.value for figure in each.figures}
        assert (each.reason, each.wrong) == ("", ())
        assert figures["fp16 products"] > 5e12
        assert figures["memory copy"] > 1e11
        assert figures["copies from the host"] > 1e9
        assert each.load.temperature_c
        assert each.load.pcie
