"""Names of other software: each spelling leads to fields that exist."""

import pytest

from clusterwright.config.fields import fields, matching
from clusterwright.config.other_names import OTHER_NAMES, other_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("LightCC", "LightCC"),
        ("lightcc", "LightCC"),
        ("light-cc", "LightCC"),
        ("DGC", "top-k, Deep Gradient Compression"),
        ("top-k", "top-k, Deep Gradient Compression"),
        ("Horovod", "Horovod's compression"),
        ("1-bit Adam", "1-bit Adam"),
        ("PowerSGD", "PowerSGD"),
        ("DiLoCo", "Local SGD, DiLoCo"),
    ],
)
def test_any_spelling_is_known(text, name):
    """Guides write them in several ways."""
    assert other_name(text).name == name


@pytest.mark.parametrize("text", ["gradients", "power", "light", "", "x" * 500, "checkpoint.every"])
def test_fields_are_no_names(text):
    """A field or a misspelt one is explained as before."""
    assert other_name(text) is None


@pytest.mark.parametrize("row", OTHER_NAMES, ids=lambda row: row.name)
def test_every_field_exists(row):
    """A renamed field would leave the answer without its explanation."""
    for path in row.fields:
        assert matching(path, fields("job")), path
    assert "`" in row.answer
