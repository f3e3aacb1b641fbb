"""Hugging Face Trainer: torch's variables are enough; how ranks talk is TrainingArguments' to say."""

from __future__ import annotations

from clusterwright.onhost.adapters.adapter import Adapter

ADAPTER = Adapter(module="transformers", install="pip install 'transformers[torch]'")
