"""Families of dense models: what each calls its sizes in a Hugging Face configuration, and always has."""

from __future__ import annotations

from dse.base.errors import InputError
from dse.base.records import shown
from dse.inputs.models.entries import Entries, Values


def dims(
    read: Entries, vocabulary: str, width: str, heads: str, layers: str, seq_len: str, feed_forward: int
) -> Values:
    """Return the sizes that every model has, by the names of their entries."""
    count = read.count(vocabulary)
    return {
        "input_dim": count,
        "output_dim": count,
        "d_model": read.count(width),
        "d_ff": feed_forward,
        "num_heads": read.count(heads),
        "num_layers": read.count(layers),
        "seq_len": read.count(seq_len),
    }


def usual(read: Entries, feed_forward: int) -> Values:
    """Return the sizes that every model has, where their entries have the usual names."""
    keys = ("vocab_size", "hidden_size", "num_attention_heads", "num_hidden_layers")
    return dims(read, *keys, "max_position_embeddings", feed_forward)


def llama(read: Entries, *, tied: bool = False, has_own_biases: bool = False) -> Values:
    """Rotary positions, grouped queries, a gate, RMSNorm, no biases but where `attention_bias` says so.

    A family that `has_own_biases` says itself which matrices have some.
    """
    values = usual(read, read.count("intermediate_size"))
    for key in ("attention_bias", "mlp_bias"):
        if read.switch(key) and not has_own_biases:
            read.notes.append(
                "of its biases only those of queries, keys and values are counted"
                if key == "attention_bias"
                else "biases of the feed-forward are not counted"
            )
    heads, width = values["num_heads"], values["d_model"]
    head_dim = read.optional("head_dim")
    return {
        **values,
        "num_kv_heads": read.count("num_key_value_heads", heads),
        "gated_mlp": True,
        "head_dim": None if head_dim is None or head_dim * heads == width else head_dim,
        "tied_embeddings": read.switch("tie_word_embeddings", tied),
        "qkv_biases": read.switch("attention_bias"),
        "dropout": read.rate("attention_dropout"),
        "windows": _windows(read, values["num_layers"], values["seq_len"]),
    }


def _windows(read: Entries, layers: int, seq_len: int) -> Values | None:
    """Return the window of all layers, or of those that `layer_types` names, where it is below a sequence."""
    window = read.optional("sliding_window")
    if not window or not read.switch("use_sliding_window", True) or window >= seq_len:
        return None
    if read.optional("max_window_layers") is not None and "layer_types" not in read.values:
        read.notes.append(
            f"attention over a window of {window} tokens on some layers is not modelled: scores are those of "
            "all keys"
        )
        return None
    types = read.values.get("layer_types")
    if types is None:
        every = read.optional("sliding_window_pattern") or None
    else:
        every = full_every(read, "layer_types", types, "full_attention", layers)
    if every == 1:
        return None
    return {"size": window} if every is None else {"size": window, "full_every": every}


def full_every(read: Entries, key: str, kinds: object, full: object, layers: int) -> int | None:
    """Return n where every n-th layer of a list is `full`; 1 means all are, None that none is.

    Raises:
        InputError: the list has other entries than layers, or follows no such rule.
    """
    if not isinstance(kinds, list) or len(kinds) != layers:
        raise InputError(f"{read.where}: {key} is {shown(kinds)}; it must be a list of {layers} entries")
    where = [index + 1 for index, kind in enumerate(kinds) if kind == full]
    if not where:
        return None
    every = where[0]
    if where != list(range(every, layers + 1, every)):
        raise InputError(
            f"{read.where}: {key} is {shown(kinds)}; only every n-th layer can be {shown(full)} for some n"
        )
    return every


def qwen2(read: Entries) -> Values:
    """Llama with biases of queries, keys and values."""
    return {**llama(read), "qkv_biases": True}


def qwen3(read: Entries) -> Values:
    """Llama with norms of queries and keys."""
    return {**llama(read), "query_key_norms": True}


def seed_oss(read: Entries) -> Values:
    """Llama with biases of queries, keys and values, and of no other matrix."""
    read.refuse_unless("attention_out_bias", False, False)
    return llama(read.over(attention_bias=True), has_own_biases=True)


def olmo2(read: Entries) -> Values:
    """Llama with norms behind blocks in place of those before, and with norms of queries and keys.

    OLMo 3 has windows, on three of four layers where the configuration does not say on which.
    """
    return whole_norms(llama(read.over(sliding_window_pattern=4)), read)


def whole_norms(values: Values, read: Entries) -> Values:
    """Norms of queries and keys have a scale for every feature of all heads."""
    read.notes.append("norms of queries and keys are counted as those of one head")
    return {**values, "query_key_norms": True}


def smollm3(read: Entries) -> Values:
    """Llama with one embedding; layers without rotary positions cost the same."""
    return llama(read, tied=True)


def glm4(read: Entries) -> Values:
    """Llama with norms behind blocks, too."""
    return {**llama(read, has_own_biases=True), "post_norms": True}


def starcoder2(read: Entries) -> Values:
    """Rotary positions, grouped queries, no gate, LayerNorm, biases in all matrices."""
    read.refuse_unless("use_bias", True, True)
    values = llama(read, tied=True)
    return {**values, "gated_mlp": False, "qkv_biases": False, "biases": True}


def gemma(read: Entries) -> Values:
    """Llama with wide heads and one embedding."""
    read.count("head_dim")
    return llama(read, tied=True)


def gemma2(read: Entries) -> Values:
    """Gemma with norms behind blocks, too, and windows on every second layer."""
    return {**gemma(read.over(sliding_window_pattern=2)), "post_norms": True}


def gemma3(read: Entries) -> Values:
    """The text model: Gemma 2 with norms of queries and keys, and windows on five of six layers."""
    # Configurations of models with images leave out what is so by default in their family.
    sizes = {"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256}
    text = read.of_text("gemma3_text").over(**sizes, max_position_embeddings=131072, sliding_window_pattern=6)
    return {**gemma(text), "post_norms": True, "query_key_norms": True}


def mistral3(read: Entries) -> Values:
    """The text model, a Llama."""
    return llama(read.of_text("mistral", "ministral", "ministral3", "llama"))


def gpt2(read: Entries) -> Values:
    """Learned positions, biases, dropout unless the file says otherwise."""
    width = read.count("n_embd")
    keys = ("vocab_size", "n_embd", "n_head", "n_layer", "n_positions")
    values = dims(read, *keys, read.optional("n_inner") or 4 * width)
    return {
        **values,
        "biases": True,
        "learned_positions": values["seq_len"],
        "tied_embeddings": read.switch("tie_word_embeddings", True),
        "dropout": read.rate("attn_pdrop", "resid_pdrop", default=0.1),
    }


def gpt_neox(read: Entries) -> Values:
    """Rotary positions and biases."""
    read.refuse_unless("attention_bias", True, True)
    return {
        **usual(read, read.count("intermediate_size")),
        "biases": True,
        "tied_embeddings": read.switch("tie_word_embeddings"),
        "dropout": read.rate("attention_dropout", "hidden_dropout"),
    }


def opt(read: Entries) -> Values:
    """Learned positions after two rows for padding, biases, dropout."""
    values = usual(read, read.count("ffn_dim"))
    read.refuse_unless("word_embed_proj_dim", values["d_model"], values["d_model"])
    read.refuse_unless("enable_bias", True, True)
    return {
        **values,
        "biases": True,
        "learned_positions": values["seq_len"] + 2,  # its table begins with two rows for padding
        "tied_embeddings": read.switch("tie_word_embeddings", True),
        "dropout": read.rate("dropout", default=0.1),
    }


def mpt(read: Entries) -> Values:
    """Positions as biases of the scores (ALiBi), which have no parameters."""
    read.refuse_unless("no_bias", True, False)
    width = read.count("d_model")
    keys = ("vocab_size", "d_model", "n_heads", "n_layers", "max_seq_len")
    return {
        **dims(read, *keys, read.count("expansion_ratio", 4) * width),
        "tied_embeddings": read.switch("tie_word_embeddings", True),
        "dropout": read.rate("resid_pdrop"),
    }
