"""Hugging Face Trainer: torch's variables suffice; TrainingArguments set the backend."""

from __future__ import annotations

from clusterwright.onhost.adapters.adapter import Adapter

ADAPTER = Adapter(module="transformers", install="pip install 'transformers[torch]'")
