"""The drawing of a fabric."""

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from clusterwright.i18n import bilingual
from clusterwright.plan.fabric.design import Options, design
from clusterwright.plan.fabric.drawing import FABRIC_LABELS, MOST, svg
from clusterwright.plan.fabric.parts import FabricKind, FabricSwitch

SVG = "{http://www.w3.org/2000/svg}"
NDR = FabricSwitch(64, 400 * 10**9)


def texts(drawn):
    """All words in a drawing."""
    return [node.text for node in ET.fromstring(drawn).iter(f"{SVG}text")]


def boxes(drawn):
    """All boxes, by class."""
    return [node.get("class") for node in ET.fromstring(drawn).iter(f"{SVG}rect")]


def test_a_small_fabric_is_drawn_whole():
    """Eight nodes on one switch: nine boxes and eight lines."""
    drawn = svg(design("star", 8, 8, NDR))

    assert boxes(drawn).count("fab-node") == 8
    assert boxes(drawn).count("fab-box") == 1
    assert len(list(ET.fromstring(drawn).iter(f"{SVG}line"))) == 8
    assert "64 cables" in texts(drawn)


def test_a_large_fabric_is_folded():
    """2048 nodes: no row has more boxes than fit, and the gap says how many it stands for."""
    drawn = svg(design("rail-optimized", 2048, 8, NDR))

    assert boxes(drawn).count("fab-node") == MOST - 1
    assert boxes(drawn).count("fab-box") == 3 * (MOST - 1)
    assert f"… x{2048 - MOST + 1}" in texts(drawn)
    assert len(drawn) < 100_000


@settings(max_examples=40, deadline=None)  # a busy machine is no failure
@given(
    some.sampled_from([kind for kind in FabricKind if kind is not FabricKind.DIRECT]),
    some.integers(3, 250),
    some.sampled_from(["en", "zh", "both"]),
    some.booleans(),
    some.floats(320, 1600),
)
def test_every_fabric_is_well_formed_and_within_its_frame(kind, nodes, language, standalone, width):
    """XML, no outside resource, and no box beyond the frame."""
    drawn = svg(design(kind, nodes, 2, NDR), language, width, standalone=standalone)
    tree = ET.fromstring(drawn)
    wide, high = (float(each) for each in tree.get("viewBox").split()[2:])

    assert "http://" not in drawn.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in drawn
    for box in tree.iter(f"{SVG}rect"):
        assert float(box.get("x")) >= -0.5 or kind is FabricKind.RING
        assert float(box.get("x")) + float(box.get("width")) <= wide + 0.5 or kind is FabricKind.RING
        assert float(box.get("y")) + float(box.get("height")) <= high


@pytest.mark.parametrize(("language", "word"), [("en", "leaf 1"), ("zh", "叶 1")])
def test_words_are_in_the_language(language, word):
    """English and Chinese."""
    assert word in texts(svg(design("leaf-spine", 16, 8, NDR), language))


def test_every_word_has_both_languages():
    """And every kind has a word."""
    assert all(re.search("[一-鿿]", bilingual(label)[1]) for label in FABRIC_LABELS.values())
    assert {str(kind) for kind in FabricKind} <= set(FABRIC_LABELS)


def test_colors_are_variables_and_a_file_of_its_own_brings_them():
    """Embedded it takes the page's; alone it has its own, light and dark."""
    made = design("star", 4, 2, NDR)

    assert "var(--ink" in svg(made)
    assert "prefers-color-scheme" not in svg(made)
    assert "prefers-color-scheme:dark" in svg(made, standalone=True)


def test_planes_are_said():
    """One plane is drawn, and how many there are is in the title."""
    made = design("rail-optimized", 64, 8, FabricSwitch(64, 800 * 10**9), options=Options(planes=2))

    assert "2 identical planes" in texts(svg(made))[0]


def test_two_nodes_are_joined_port_to_port():
    """Direct: two boxes."""
    assert boxes(svg(design("direct", 2, 8, NDR))) == ["fab-node"] * 2
