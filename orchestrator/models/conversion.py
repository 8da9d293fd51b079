"""Makes variants of equal precision from one GGUF: all from the same BF16 values, by `gguf` and Transformers.

Source values are dequantised to float32 and rounded to BF16 once; every variant stores those, Q8_0 after quantising
them. Rows of one dimension (norms) stay float32 in a GGUF, rounded likewise, since llama.cpp wants them so.
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from tokenizers import pre_tokenizers

from orchestrator.models.extra import require, versions
from orchestrator.models.gguf_header import read_metadata

Precision = Literal["bf16", "q8_0"]

FILE_TYPE, ARCHITECTURE = "general.file_type", "general.architecture"
SPLITS_DIGITS = frozenset({"smollm"})  # values of tokenizer.ggml.pre


def write_gguf(target: Path, source: Path, *, precision: Precision) -> str:
    """Write a GGUF with the source's metadata and its values in the given precision; returns how it was made."""
    gguf = require("gguf")
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, _text(reader, ARCHITECTURE))
    copy_metadata(reader, writer, is_kept=lambda key: key != FILE_TYPE)
    writer.add_file_type(_file_type(gguf, precision))
    for tensor in reader.tensors:
        _copy_tensor(gguf, tensor, writer, precision=precision)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return f"dequantised, rounded to bf16, written as {precision} GGUF by {versions('gguf')}"


def write_tokenizer(target: Path, source: Path) -> str:
    """Write the GGUF's tokenizer as a folder with `tokenizer.json` and chat template; returns how it was made.

    Transformers drops how text is split before merging; for kinds that need more than bytes it is put back.
    """
    tokenizer = _load(require("transformers").AutoTokenizer, source)
    if read_metadata(source).get("tokenizer.ggml.pre") in SPLITS_DIGITS:
        digits, rest = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, rest])
    tokenizer.save_pretrained(target)
    return f"the GGUF's tokenizer, by {versions('transformers', 'tokenizers')}"


def write_hf_folder(target: Path, source: Path, *, tokenizer: Path) -> str:
    """Write a Hugging Face folder with the source's values in BF16 and a tokenizer's files; returns how it was made.

    The configuration loses its `quantization_config`, so that engines load it as the unquantised model that it is.
    """
    torch, transformers = require("torch"), require("transformers")
    require("accelerate")
    loaded = _load(transformers.AutoModelForCausalLM, source, dtype=torch.float32)
    config = {key: value for key, value in loaded.config.to_dict().items() if key != "quantization_config"}
    config = type(loaded.config).from_dict({**config, "dtype": "bfloat16"})
    plain = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    plain.load_state_dict({name: value.to(torch.bfloat16) for name, value in loaded.state_dict().items()})
    plain.save_pretrained(target)
    shutil.copytree(tokenizer, target, dirs_exist_ok=True)
    return f"dequantised, rounded to bf16, saved by {versions('transformers', 'torch', 'gguf')}"


def copy_metadata(reader: Any, writer: Any, *, is_kept: Callable[[str], bool]) -> None:  # noqa: ANN401 - gguf has no types
    """Copy the keys that are kept from a reader to a writer of `gguf`; the architecture is the writer's own."""
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == ARCHITECTURE or not is_kept(field.name):
            continue
        kind, *elements = field.types
        sub_type = elements[-1] if elements else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=sub_type)


def _load(kind: Any, source: Path, **options: object) -> Any:  # noqa: ANN401 - a class of Transformers, and what it loads
    return kind.from_pretrained(source.parent, gguf_file=source.name, local_files_only=True, **options)


def _text(reader: Any, key: str) -> str:  # noqa: ANN401 - gguf has no types
    return str(reader.get_field(key).contents())


def _file_type(gguf: Any, precision: Precision) -> Any:  # noqa: ANN401 - gguf has no types
    file_types: Mapping[Precision, Any] = {
        "bf16": gguf.LlamaFileType.MOSTLY_BF16,
        "q8_0": gguf.LlamaFileType.MOSTLY_Q8_0,
    }
    return file_types[precision]


def _copy_tensor(gguf: Any, tensor: Any, writer: Any, *, precision: Precision) -> None:  # noqa: ANN401 - gguf has no types
    kinds = gguf.GGMLQuantizationType
    bf16 = gguf.quantize(gguf.dequantize(tensor.data, tensor.tensor_type), kinds.BF16)
    rounded = gguf.dequantize(bf16, kinds.BF16)
    if rounded.ndim == 1:
        writer.add_tensor(tensor.name, rounded)
    elif precision == "bf16":
        writer.add_tensor(tensor.name, bf16, raw_dtype=kinds.BF16)
    else:
        writer.add_tensor(tensor.name, gguf.quantize(rounded, kinds.Q8_0), raw_dtype=kinds.Q8_0)
