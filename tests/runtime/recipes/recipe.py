"""A recipe, as the ranks of a test run it: RECIPE with ARGUMENTS."""

import importlib
import json
import os

recipe = importlib.import_module(f"clusterwright.runtime.recipes.{os.environ['RECIPE']}")
recipe.main(json.loads(os.environ["ARGUMENTS"]))
