"""A Llama of random weights, whose tokeniser knows bytes and a few pairs."""

from pathlib import Path
from typing import Any

TEXTS = ["the cat sat on the mat", "the dog ran", "a caf\u00e9, na\u00efve", "\u4f60\u597d", ""]
END = "<|endoftext|>"


def tokenizer() -> Any:
    """Return a tokeniser of bytes and a few pairs."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=280, initial_alphabet=alphabet, special_tokens=[END], show_progress=False)
    core.train_from_iterator(TEXTS[:3] * 3, trainer)
    return core


def network(n_types: int) -> Any:
    """Return a Llama of random weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    with torch.random.fork_rng():
        torch.manual_seed(0)
        sizes: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
        sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256}
        config = LlamaConfig(
            vocab_size=n_types, initializer_range=0.4, bos_token_id=0, eos_token_id=0, tie_word_embeddings=True, **sizes
        )
        module: Any = LlamaForCausalLM(config)
        return module.eval()


def save(folder: Path) -> Path:
    """Save both as transformers does."""
    import transformers

    core = tokenizer()
    fast: Any = transformers.PreTrainedTokenizerFast
    fast(tokenizer_object=core, eos_token=END).save_pretrained(folder)
    network(core.get_vocab_size()).save_pretrained(folder)
    return folder
