"""Convert a Hugging Face `config.json` to an architecture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clusterwright.catalog.hf_families import FAMILIES, TEXT_OF, Family
from clusterwright.catalog.models import architecture
from clusterwright.catalog.records import Architecture
from clusterwright.catalog.user_catalog import UserCatalog
from clusterwright.errors import EXIT_USAGE, Finding, Location, WrightError, closest_name, unreadable_fix
from clusterwright.file_arguments import read_argument
from clusterwright.i18n import _

_LETTERS = {"mamba": "M", "attention": "*", "mlp": "-", "moe": "E"}


def model_of(text: str, extra: UserCatalog | None = None) -> Architecture:
    """Return the architecture for `--model`: a catalog name, or the path of a config.json or its folder.

    Raises:
        WrightError: `unknown-model`, `file-unreadable`, or what `architecture_of` raises.
    """
    path = Path(text)
    if path.is_dir() and (path / "config.json").exists():
        path /= "config.json"
    if path.suffix != ".json" and not path.is_file():
        return architecture(text, extra)
    return architecture_of(_json(path), str(path))


def architecture_of(config: Mapping[str, Any], name: str) -> Architecture:
    """Convert a parsed config.json; `name` is the file, for messages and for the model's name if the config has none.

    Biases on some matrices only (Qwen2's queries, keys and values) are not counted.

    Raises:
        WrightError: `unknown-architecture`; or all `missing-config-key` and `bad-config-value` at once.
    """
    kind = config.get("model_type")
    text = config.get("text_config")
    if isinstance(kind, str) and kind in TEXT_OF and isinstance(text, dict):
        config, kind = text, TEXT_OF[kind]
    family = FAMILIES.get(kind) if isinstance(kind, str) else None
    if family is None:
        raise _unknown(kind, name)
    read = _HfReader(config, name)
    values = _values(read, family, str(kind))
    if read.findings:
        raise WrightError(*read.findings, exit_code=EXIT_USAGE)
    return Architecture(name=_model_name(config, name), source=name, **values)


@dataclass(slots=True)
class _HfReader:
    """Reads keys of a config and collects findings."""

    config: Mapping[str, Any]
    file: str
    findings: list[Finding] = field(default_factory=list)

    def need(self, keys: tuple[str, ...]) -> int:
        """Return the integer, at least 0, under the first key present; without one, add a finding and return 0.

        A value that is no such integer adds a finding, too.
        """
        key = self._first_key(keys)
        if key is None:
            fix = _("add `{keys}`, or use the config.json that was published with the model", keys=keys[0])
            self._add_finding(
                "missing-config-key", _("the config has no `{keys}`", keys=keys[0]), fix, keys[0]
            )
            return 0
        return self._read_int(key, least=0)

    def may(self, keys: tuple[str, ...]) -> int:
        """Return the integer, at least 0, under the first of the keys that is present; 0 without one."""
        key = self._first_key(keys)
        return 0 if key is None else self._read_int(key, least=0)

    def flag(self, key: str, *, otherwise: bool) -> bool:
        """Return a boolean key; `otherwise` if it is missing. Another value adds a finding and is False."""
        value = self.config.get(key)
        if value is None:
            return otherwise
        if not isinstance(value, bool):
            self._add_finding(
                "bad-config-value",
                _("`{key}` is {value!r}; it must be true or false", key=key, value=value),
                _("write true or false"),
                key,
            )
        return value is True

    def wrong(self, key: str, message: str, fix: str) -> None:
        """Add a finding that the value of a key is impossible; nothing is raised here."""
        self._add_finding("bad-config-value", message, fix, key)

    def _first_key(self, keys: tuple[str, ...]) -> str | None:
        return next((key for key in keys if self.config.get(key) is not None), None)

    def _read_int(self, key: str, least: int) -> int:
        value = self.config[key]
        if isinstance(value, bool) or not isinstance(value, int):
            message = _("`{key}` is {value!r}; it must be an integer", key=key, value=value)
            self._add_finding("bad-config-value", message, _("write an integer"), key)
            return 0
        if value < least:
            message = _("`{key}` is {value}; it must be at least {min}", key=key, value=value, min=least)
            self._add_finding("bad-config-value", message, _("write the model's value"), key)
            return 0
        return value

    def _add_finding(self, code: str, message: str, fix: str, key: str) -> None:
        excerpt = json.dumps(self.config[key])[:60] if key in self.config else ""
        self.findings.append(Finding(code, message, fix, (Location(self.file, path=key, value=excerpt),)))


def _values(read: _HfReader, family: Family, kind: str) -> dict[str, Any]:
    values: dict[str, Any] = {name: read.need(keys) for name, keys in family.needs.items()}
    values |= {name: read.may(keys) for name, keys in family.may.items()}
    values["gated"], values["causal"] = family.gated, family.causal
    values["biases"] = read.flag("bias", otherwise=False) if kind == "falcon" else family.biases
    values["tied"] = read.flag("tie_word_embeddings", otherwise=family.tied)
    values["vocab"] = values.get("vocab", 0)
    if kind == "nemotron_h":
        _layers(read, values)
    _heads(read, values, kind)
    _widths(read, values, family)
    _window(read, values, family)
    _experts(read, values)
    if family.mla:
        values["attention"] = "mla"
    if kind == "vit":
        values["learned_positions"] = _patches(read)
    elif family.positions >= 0:
        values["learned_positions"] += family.positions
    return values


def _layers(read: _HfReader, values: dict[str, Any]) -> None:
    """Set the layer counts by the pattern of a hybrid model: M mixer, * attention, - feed-forward part, E experts.

    Without experts in the pattern their sizes become 0. A pattern that is not supported adds a finding and counts as
    `M*`.
    """
    block_types = read.config.get("layers_block_type")
    listed = block_types if isinstance(block_types, list) else []
    pattern = read.config.get("hybrid_override_pattern") or "".join(
        _LETTERS.get(str(block_type), "?") for block_type in listed
    )
    if not isinstance(pattern, str) or not pattern or set(pattern) - set("M*-E"):
        fix = _("write `hybrid_override_pattern` with the letters M, *, - and E")
        read.wrong("hybrid_override_pattern", _("the layer pattern is not supported"), fix)
        pattern = "M*"
    values["layers"] = len(pattern)
    values["mamba_layers"], values["attention_layers"] = pattern.count("M"), pattern.count("*")
    if "E" not in pattern:
        unused = ("experts", "experts_per_token", "expert_ffn", "shared_ffn", "expert_width")
        values.update(dict.fromkeys(unused, 0))


def _heads(read: _HfReader, values: dict[str, Any], kind: str) -> None:
    """Set `kv_heads` (default: all heads) and `head_dim`, the width of one head (default: an even share), in `values`.

    Sizes that do not divide add a finding.
    """
    heads, hidden = values["heads"], values["hidden"]
    if kind == "falcon":
        values["kv_heads"] = _falcon_heads(read, heads)
    values["kv_heads"] = values.get("kv_heads") or heads
    if kind == "gpt_bigcode" and read.flag("multi_query", otherwise=True):
        values["kv_heads"] = 1
    if heads and heads % values["kv_heads"]:
        message = _(
            "{heads} attention heads are not divisible by {kv_heads} key-value heads",
            heads=heads,
            kv_heads=values["kv_heads"],
        )
        read.wrong("num_key_value_heads", message, _("use a divisor of the number of heads"))
    if values.get("head_dim") or not heads:
        values.setdefault("head_dim", 0)
        return
    if hidden % heads:
        fix = _("set `head_dim`, or correct the hidden size or the number of heads")
        read.wrong(
            "hidden_size",
            _("hidden size {hidden} is not divisible by {heads} heads", hidden=hidden, heads=heads),
            fix,
        )
    values["head_dim"] = hidden // heads


def _falcon_heads(read: _HfReader, heads: int) -> int:
    if read.flag("new_decoder_architecture", otherwise=False):
        return read.may(("num_kv_heads", "n_head_kv")) or heads
    return 1 if read.flag("multi_query", otherwise=True) else heads


def _widths(read: _HfReader, values: dict[str, Any], family: Family) -> None:
    ratio = read.may(("expansion_ratio",)) or family.ffn_of_hidden
    if not values.get("ffn"):
        values["ffn"] = ratio * values["hidden"]
    for name in ("layers", "hidden", "heads", "ffn"):
        keys = family.needs.get(name, (name,))
        is_set = any(read.config.get(key) is not None for key in keys)
        if is_set and not values[name] and not read.findings:
            read.wrong(keys[0], _("`{keys}` is 0", keys=keys[0]), _("write the model's value"))


def _window(read: _HfReader, values: dict[str, Any], family: Family) -> None:
    """Set `window`, the sliding window of attention, in `values`: 0 if it has none, or it is as long as the context.

    With a window also set `window_every`: of so many layers one has full attention.
    """
    longest = read.may(("max_position_embeddings",))
    if not values.get("window") or (longest and values["window"] >= longest):
        values["window"] = 0
        return
    kinds = read.config.get("layer_types")
    full = kinds.count("full_attention") if isinstance(kinds, list) else 0
    pattern = read.may(("sliding_window_pattern", "_sliding_window_pattern"))
    values["window_every"] = round(len(kinds) / full) if kinds and full else pattern or family.window_every


def _experts(read: _HfReader, values: dict[str, Any]) -> None:
    if not values.get("experts"):
        return
    values["expert_ffn"] = values.get("expert_ffn") or values["ffn"]
    if not values.get("shared_ffn"):
        values["shared_ffn"] = read.may(("n_shared_experts",)) * values["expert_ffn"]
    dense = read.config.get("mlp_only_layers")
    if isinstance(dense, list):
        values["dense_layers"] = len(dense)
    if values.get("dense_layers", 0) > values["layers"]:
        read.wrong(
            "num_hidden_layers",
            _("more dense layers than layers in the model"),
            _("correct one of the two fields"),
        )
    if values["experts_per_token"] > values["experts"]:
        read.wrong(
            "num_experts_per_tok",
            _("experts per token exceed the number of experts"),
            _("correct one of the two fields"),
        )


def _patches(read: _HfReader) -> int:
    """Return the number of patches of one image, plus the class token; 0, with a finding, without a size."""
    side, patch = read.need(("image_size",)), read.need(("patch_size",))
    return (side // patch) ** 2 + 1 if patch else 0


def _model_name(config: Mapping[str, Any], file: str) -> str:
    """Return the name in the config, else that of its folder or file."""
    config_name = config.get("_name_or_path")
    path = Path(file)
    return (
        config_name
        if isinstance(config_name, str) and config_name
        else path.parent.name
        if path.name == "config.json"
        else path.stem
    )


def _json(path: Path) -> Mapping[str, Any]:
    try:
        config = json.loads(read_argument(path).decode())
    except (OSError, UnicodeDecodeError) as error:
        fix = _("name a model of the catalog (wright plan catalog models) or the path of a config.json")
        message = f"{path}: {getattr(error, 'strerror', None) or error}"
        fix = unreadable_fix(error, path, fix)
        raise WrightError.from_code("file-unreadable", message, fix, exit_code=EXIT_USAGE) from error
    except (ValueError, RecursionError) as error:
        fix = _("use the config.json that was published with the model")
        raise WrightError.from_code(
            "bad-json", _("{path} is not JSON: {error}", path=path, error=error), fix, exit_code=EXIT_USAGE
        ) from error
    if not isinstance(config, dict):
        fix = _("use the config.json that was published with the model")
        raise WrightError.from_code(
            "bad-json", _("{path} does not contain a JSON object", path=path), fix, exit_code=EXIT_USAGE
        )
    return config


def _unknown(kind: object, file: str) -> WrightError:
    suggestion = closest_name(str(kind), list(FAMILIES)) if kind else None
    fix = (
        _(
            "describe the model in your own catalog file (docs/guides/own-hardware.md); the most similar supported "
            "model_type is `{suggestion}`",
            suggestion=suggestion,
        )
        if suggestion
        else _("describe the model in your own catalog file (docs/guides/own-hardware.md)")
    )
    message = (
        _("{file}: model_type `{kind}` is not supported", file=file, kind=kind)
        if kind
        else _("{file} has no model_type", file=file)
    )
    location = Location(file, path="model_type", value=json.dumps(kind)[:60] if kind else "")
    return WrightError(
        Finding(
            "unknown-architecture",
            message,
            fix,
            (location,),
        ),
        exit_code=EXIT_USAGE,
    )
