"""What a job file may say of a recipe's arguments, and what the recipe understands."""

from dataclasses import fields
from importlib import import_module

import pytest

from clusterwright.config.recipes import arguments_of

pytest.importorskip("torch")


@pytest.mark.parametrize("recipe", ["gpt", "llama", "bert", "resnet", "instruct"])
def test_a_job_file_may_say_what_the_recipe_understands(recipe):
    """Every option, with its own kind and default."""
    options = import_module(f"clusterwright.runtime.recipes.{recipe}").Options

    understood = {field.name: field.default for field in fields(options)}
    assert arguments_of(recipe) == understood
    assert {name: type(value) for name, value in arguments_of(recipe).items()} == {
        name: type(value) for name, value in understood.items()
    }
