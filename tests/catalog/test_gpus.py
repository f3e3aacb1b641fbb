"""GPUs are found under any spelling, and never under another's."""

import csv
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog import UserCatalog, gpu, gpus
from clusterwright.catalog.records import Gpu
from clusterwright.catalog.rows import rows
from clusterwright.errors import WrightError

PUBLISHED = Path(__file__).parents[2] / "bench" / "accuracy" / "published"
NO_GPU = {"N/A", "8-GPU nodes (type not printed)"}  # what the tables print where they do not say


def published_types():
    """Every text in a gpu_type column."""
    for file in sorted(PUBLISHED.glob("*.csv")):
        with file.open(newline="") as lines:
            yield from (row["gpu_type"] for row in csv.DictReader(lines) if row.get("gpu_type"))


@pytest.mark.parametrize("text", sorted(set(published_types()) - NO_GPU))
def test_a_published_type_is_known(text):
    """No row of the tables fails for the name of its GPU."""
    assert gpu(text).name in gpus()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("NVIDIA A100-SXM4-80GB (400W)", "a100-sxm-80gb"), ("A100-SXM (DGX A100)", "a100-sxm-80gb"),
        ("a100-80g", "a100-sxm-80gb"), ("A100 40GB PCIe", "a100-pcie-40gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("8xA100-80G", "a100-sxm-80gb"), ("gres/gpu:a100", "a100-sxm-80gb"), ("h100", "h100-sxm-80gb"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm-80gb"), ("nvidia_h100_80gb_hbm3", "h100-sxm-80gb"),
        ("H100 80GB PCIe Gen5", "h100-pcie-80gb"), ("H100-NVL-94GB", "h100-nvl-94gb"), ("H200-NVL", "h200-nvl-141gb"),
        ("V100 (DGX-1 class)", "v100-sxm2-32gb"), ("V100-SXM3-32GB", "v100-sxm2-32gb"),
        ("Tesla V100-PCIE-16GB", "v100-pcie-16gb"), ("V100S-PCIE-32GB", "v100s-pcie-32gb"),
        ("B200-SXM (power limited)", "b200-sxm-180gb"), ("B200-class (184GiB)", "b200-sxm-180gb"),
        ("B200 192GB", "b200-sxm-180gb"), ("GB200 NVL72", "gb200"), ("GB300 (ND128isr_GB300_v6)", "gb300"),
        ("NVIDIA GH200 480GB", "gh200-96gb"), ("4090", "rtx-4090"), ("RTX 4090 x2", "rtx-4090"),
        ("rtx3090ti", "rtx-3090-ti"), ("NVIDIA GeForce RTX 4090 D", "rtx-4090-d"), ("RTX 6000 Ada", "rtx-6000-ada"),
        ("Quadro RTX 6000", "quadro-rtx-6000"), ("RTX 8000", "quadro-rtx-8000"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-blackwell"),
        ("A40x4", "a40"), ("A10", "a10"), ("A10G", "a10g"), ("Tesla T4", "t4"), ("MI 250X", "mi250x"),
        ("AMD Instinct MI300X OAM", "mi300x"), ("Habana Gaudi2", "gaudi2"), ("Gaudi 3", "gaudi3"), ("TPUv4", "tpu-v4"),
        ("TPU v5p", "tpu-v5p"), ("Intel® Gaudi® 2", "gaudi2"), ("AMD Instinct(TM) MI325X", "mi325x"),
        ("NVIDIA H200-SXM-141GB-CTS", "h200-sxm-141gb"), ("NVIDIA GH200-GraceHopper-Superchip_GPU-96GB", "gh200-96gb"),
        ("DGX-2 (V100-SXM3)", "v100-sxm2-32gb"), ("A100 (40GB)", "a100-sxm-40gb"),
        ("H100 (8 per node)", "h100-sxm-80gb"),
    ],
)  # fmt: skip
def test_a_spelling_means_its_gpu(text, name):
    """Vendors, drivers, Slurm, tables and people write the same GPU in many ways."""
    assert gpu(text).name == name


@pytest.mark.parametrize(
    "text",
    ["", "banana", "H1000", "A100X", "4080 Super", "RTX 6000", "GTX 1080 Ti", "A100-SXM-64GB", "T4-SXM", "A100 vs H100",
     "a100_1g.5gb", "NVIDIA A100-SXM4-40GB MIG 3g.20gb", "100", "80GB", *sorted(NO_GPU)],
)  # fmt: skip
def test_what_is_no_known_gpu_is_refused(text):
    """A product of another number, a size that was never sold, a slice, two at once: none is guessed."""
    with pytest.raises(WrightError) as caught:
        gpu(text)

    assert caught.value.findings[0].code == "unknown-gpu"
    assert caught.value.exit_code == 2


def test_a_slip_is_met_with_the_name_that_is_meant():
    """And with where all are listed, and how one is added."""
    with pytest.raises(WrightError) as caught:
        gpu("h10-sxm-80gb")

    fix = caught.value.findings[0].fix
    assert "`h100-sxm-80gb`" in fix
    assert "own-hardware.md" in fix


@given(
    st.sampled_from(sorted(gpus())), st.sampled_from(["-", " ", "_", "  "]), st.booleans(),
    st.sampled_from(["", "NVIDIA ", "Tesla ", "8x "]), st.sampled_from(["", " (node 3)", " x8"]),
)  # fmt: skip
def test_case_dashes_vendor_and_remarks_do_not_matter(name, dash, upper, before, after):
    """The catalog's own names are found however they are dressed."""
    text = name.replace("-", dash)
    assert gpu(before + (text.upper() if upper else text) + after).name == name


@given(st.text(max_size=40))
def test_any_text_is_a_gpu_or_an_error_for_the_user(text):
    """Never a traceback."""
    try:
        assert gpu(text).name in gpus()
    except WrightError as error:
        assert error.findings[0].code == "unknown-gpu"  # noqa: PT017 (either outcome is right, no third)


@pytest.mark.parametrize("row", rows("gpus"), ids=lambda row: row["name"])
def test_a_row_has_its_source_and_fits_together(row):
    """Sizes are sane, and rates rise as precision falls."""
    one = gpu(row["name"])

    assert len(one.source) > 10
    assert one.name == row["name"]
    assert 4e9 <= one.memory_bytes <= 300e9
    assert 1e11 < one.memory_bytes_per_s < 3e13
    assert one.memory_bytes * 0.9 < one.usable_bytes < one.memory_bytes * 2**30 / 1e9
    assert "sparse" not in one.peak
    ordered = [one.peak[each] for each in ("fp32", "tf32", "bf16", "fp8", "fp4") if each in one.peak]
    assert ordered == sorted(ordered)
    for precision, best in (one.achieved or {}).items():
        assert 0.3 * one.peak[precision] < best < one.peak[precision]


def test_dense_rates_are_not_the_sparse_ones():
    """The trap of the data sheets: NVIDIA prints twice as much, with sparsity."""
    peaks = {
        name: gpu(name).peak["bf16"] / 1e12
        for name in ("a100", "h100", "h200", "b200", "gb200", "l4", "l40s")
    }

    assert peaks == pytest.approx(
        {"a100": 312, "h100": 989.4, "h200": 989.4, "b200": 2250, "gb200": 2500, "l4": 121, "l40s": 362.05}
    )


def test_the_users_own_gpu_wins():
    """Also over one of ours with the same name."""
    mine = Gpu("h100-sxm-80gb", {"bf16": 1.0}, 1.0, 1.0)
    own = UserCatalog(gpus={"h100-sxm-80gb": mine, "Mine 2": mine})

    assert gpu("h100-sxm-80gb", own) is mine
    assert gpu("mine-2", own) is mine
    assert gpu("a100", own).name == "a100-sxm-80gb"


def test_the_file_is_read_once(monkeypatch):
    """A look-up after the first reads nothing."""
    first = gpu("NVIDIA A100-SXM4-80GB (400W)")
    # the folder of the catalog is no argument of a look-up
    monkeypatch.setattr(import_module("clusterwright.catalog.gpus"), "rows", None)

    assert gpu("NVIDIA A100-SXM4-80GB (400W)") is first


def test_no_two_gpus_share_model_form_and_memory():
    """Else the order of the rows would decide."""
    keys = [(row["model"], row["form"], row["memory_gb"]) for row in rows("gpus")]

    assert len(keys) == len(set(keys))
