"""Tags of images: the grammar of references of docker, podman and buildah."""

import pytest

from clusterwright.launch.image.tag import nearest_tag, parse_tag
from clusterwright.units import QuantityError


@pytest.mark.parametrize(
    "text",
    ["gpt", "me/gpt:latest", "localhost/t:1", "registry.example:5000/team/a__b--c.d:V1.0_x", "h:5000/x"],
)
def test_a_tag_is_accepted(text):
    """With registry, port, folders and version, or without."""
    assert parse_tag(text) == text == nearest_tag(text)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("My Image:latest", "my-image:latest"),
        ("my-image::latest", "my-image:latest"),
        ("Registry.example:5000/Team A/GPT:v 2", "Registry.example:5000/team-a/gpt:v-2"),
        ("gpt:", "gpt"),
        ("gpt-", "gpt"),
        ("/gpt", "gpt"),
        ("a//b", "a/b"),
        ("a_-b..c", "a-b-c"),
        ("x@sha256:1", "x-sha256:1"),
        ("\u00c4pfel", "pfel"),
        (":1", "image:1"),
        ("a" * 300, "a" * 255),
        ("a:" + "b" * 200, "a:" + "b" * 128),
    ],
)
def test_another_text_is_answered_with_the_nearest_tag(text, tag):
    """The fix is a tag."""
    with pytest.raises(QuantityError) as refused:
        parse_tag(text)
    assert refused.value.fix == f"write --tag {tag}"
    assert parse_tag(tag) == tag
