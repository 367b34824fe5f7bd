"""Public architectures as ONNX files, operator by operator: shapes as published, weights without data.

Weights are declared as external data that is never written: what is read of them is their shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onnx import TensorProto, helper

_FLOAT = TensorProto.FLOAT


class Builder:
    """Adds operators to a graph; each method returns the name of the tensor that it makes."""

    def __init__(self, name: str, shape: list[int], kind: int = _FLOAT) -> None:
        self.name = name
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.input = helper.make_tensor_value_info("x", kind, shape)

    def op(self, kind: str, inputs: list[str], name: str = "", outputs: int = 1, **attributes: Any) -> Any:
        """Add an operator; return its outputs, or the only one."""
        title = f"/{name}/{kind}_{len(self.nodes)}" if name else f"{kind}_{len(self.nodes)}"
        made = [f"t{len(self.nodes)}_{n}" for n in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, made, name=title, **attributes))
        return made[0] if outputs == 1 else made

    def weight(self, *shape: int) -> str:
        """Declare a weight."""
        tensor = TensorProto(name=f"w{len(self.weights)}", data_type=_FLOAT, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="none")
        self.weights.append(tensor)
        return str(tensor.name)

    def numbers(self, *values: int) -> str:
        """Declare a constant of whole numbers."""
        name = f"w{len(self.weights)}"
        self.weights.append(helper.make_tensor(name, TensorProto.INT64, [len(values)], values))
        return name

    def conv(
        self, x: str, c: int, out: int, k: int, s: int = 1, name: str = "", g: int = 1, act: str = "Relu"
    ) -> str:
        """Convolution, batch normalisation, and an activation (none if empty)."""
        weight = self.weight(out, c // g, k, k)
        pads = [(k - 1) // 2] * 4
        y = self.op("Conv", [x, weight], name, strides=[s, s], pads=pads, group=g)
        y = self.op("BatchNormalization", [y, *(self.weight(out) for _ in range(4))], name)
        return str(self.op(act, [y], name)) if act else str(y)

    def linear(self, x: str, width: int, out: int, name: str) -> str:
        """Product with a matrix, and a bias."""
        return str(
            self.op("Add", [self.op("MatMul", [x, self.weight(width, out)], name), self.weight(out)], name)
        )

    def norm(self, x: str, width: int, name: str) -> str:
        """Layer normalisation."""
        return str(self.op("LayerNormalization", [x, self.weight(width), self.weight(width)], name))

    def pool(self, x: str, k: int, s: int, name: str = "", kind: str = "MaxPool") -> str:
        """Pooling."""
        return str(self.op(kind, [x], name, kernel_shape=[k, k], strides=[s, s], pads=[(k - 1) // 2] * 4))

    def classify(self, x: str, width: int, classes: int = 1000) -> str:
        """Mean over the picture, and logits."""
        flat = self.op("Flatten", [self.op("GlobalAveragePool", [x], "head")], "head")
        return str(self.op("Gemm", [flat, self.weight(width, classes), self.weight(classes)], "head"))

    def model(self, output: str) -> Any:
        """Return the ONNX model."""
        made = helper.make_tensor_value_info(output, _FLOAT, None)
        graph = helper.make_graph(self.nodes, self.name, [self.input], [made], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def picture(name: str, size: int = 224) -> Builder:
    """Return a builder whose input is a picture."""
    return Builder(name, [1, 3, size, size])


def resnet(name: str, counts: list[int], bottleneck: bool) -> Any:
    """Residual networks (He et al. 2016)."""
    b = picture(name)
    x, width = b.pool(b.conv("x", 3, 64, 7, 2, "stem"), 3, 2, "stem"), 64
    for stage, count in enumerate(counts):
        inner = 64 * 2**stage
        out = inner * (4 if bottleneck else 1)
        for block in range(count):
            stride, place = (2 if stage and not block else 1), f"stage{stage}/block{block}"
            if bottleneck:
                y = b.conv(b.conv(x, width, inner, 1, 1, place), inner, inner, 3, stride, place)
                y = b.conv(y, inner, out, 1, 1, place, act="")
            else:
                y = b.conv(b.conv(x, width, inner, 3, stride, place), inner, out, 3, 1, place, act="")
            short = x if (width, stride) == (out, 1) else b.conv(x, width, out, 1, stride, place, act="")
            x, width = b.op("Relu", [b.op("Add", [y, short], place)], place), out
    return b.model(b.classify(x, width))


def vgg(name: str, plan: list[list[int]]) -> Any:
    """VGG (Simonyan and Zisserman 2015)."""
    b, x, width = picture(name), "x", 3
    for stage, widths in enumerate(plan):
        for out in widths:
            x, width = b.conv(x, width, out, 3, 1, f"stage{stage}"), out
        x = b.op("MaxPool", [x], f"stage{stage}", kernel_shape=[2, 2], strides=[2, 2])
    x, width = b.op("Flatten", [x], "head"), 512 * 7 * 7
    for out in (4096, 4096, 1000):
        x, width = b.op("Gemm", [x, b.weight(width, out), b.weight(out)], "head"), out
    return b.model(x)


def densenet(name: str, counts: list[int], growth: int = 32) -> Any:
    """Densely connected networks (Huang et al. 2017): every layer reads all before it in its block."""
    b = picture(name)
    x, width = b.pool(b.conv("x", 3, 64, 7, 2, "stem"), 3, 2, "stem"), 64
    for stage, count in enumerate(counts):
        parts = [x]
        for layer in range(count):
            place = f"block{stage}/layer{layer}"
            both = b.op("Concat", parts, place, axis=1) if len(parts) > 1 else parts[0]
            y = b.conv(b.conv(both, width, 4 * growth, 1, 1, place), 4 * growth, growth, 3, 1, place)
            parts.append(y)
            width += growth
        x = b.op("Concat", parts, f"transition{stage}", axis=1)
        if stage + 1 < len(counts):
            x, width = b.conv(x, width, width // 2, 1, 1, f"transition{stage}"), width // 2
            x = b.op("AveragePool", [x], f"transition{stage}", kernel_shape=[2, 2], strides=[2, 2])
    return b.model(b.classify(x, width))


_INVERTED = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
]


def mobilenet(name: str) -> Any:
    """Inverted residuals (Sandler et al. 2018)."""
    b = picture(name)
    x, width = b.conv("x", 3, 32, 3, 2, "stem"), 32
    for stage, (factor, out, count, stride) in enumerate(_INVERTED):
        for block in range(count):
            place, step, inner = f"stage{stage}/block{block}", (1 if block else stride), width * factor
            y = b.conv(x, width, inner, 1, 1, place) if factor > 1 else x
            y = b.conv(y, inner, inner, 3, step, place, g=inner)
            y = b.conv(y, inner, out, 1, 1, place, act="")
            x, width = (b.op("Add", [x, y], place) if (step, width) == (1, out) else y), out
    return b.model(b.classify(b.conv(x, width, 1280, 1, 1, "head"), 1280))


_INCEPTION = [
    (64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), None, (192, 96, 208, 16, 48, 64),
    (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64), (112, 144, 288, 32, 64, 64),
    (256, 160, 320, 32, 128, 128), None, (256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128),
]  # fmt: skip


def googlenet(name: str) -> Any:
    """Inception modules of four branches (Szegedy et al. 2015, table 1)."""
    b = picture(name)
    x = b.pool(b.conv("x", 3, 64, 7, 2, "stem"), 3, 2, "stem")
    x, width = b.pool(b.conv(b.conv(x, 64, 64, 1, 1, "stem"), 64, 192, 3, 1, "stem"), 3, 2, "stem"), 192
    for number, row in enumerate(_INCEPTION):
        if row is None:
            x = b.pool(x, 3, 2, f"pool{number}")
            continue
        one, before3, three, before5, five, pooled = row
        place = f"inception{number}"
        branches = [
            b.conv(x, width, one, 1, 1, f"{place}/one"),
            b.conv(b.conv(x, width, before3, 1, 1, f"{place}/three"), before3, three, 3, 1, f"{place}/three"),
            b.conv(b.conv(x, width, before5, 1, 1, f"{place}/five"), before5, five, 5, 1, f"{place}/five"),
            b.conv(b.pool(x, 3, 1, f"{place}/pool"), width, pooled, 1, 1, f"{place}/pool"),
        ]
        x, width = b.op("Concat", branches, place, axis=1), one + three + five + pooled
    return b.model(b.classify(x, width))


def squeezenet(name: str) -> Any:
    """Fire modules (Iandola et al. 2016, version 1.1)."""
    b = picture(name)
    x, width = b.pool(b.conv("x", 3, 64, 3, 2, "stem"), 3, 2, "stem"), 64
    for number, (narrow, wide) in enumerate(
        [(16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256)]
    ):
        place = f"fire{number}"
        y = b.conv(x, width, narrow, 1, 1, place)
        both = [b.conv(y, narrow, wide, 1, 1, place), b.conv(y, narrow, wide, 3, 1, place)]
        x, width = b.op("Concat", both, place, axis=1), 2 * wide
        if number in (1, 3):
            x = b.pool(x, 3, 2, place)
    return b.model(b.classify(b.conv(x, width, 1000, 1, 1, "head"), 1000))


def unet(name: str, depth: int = 4, base: int = 64) -> Any:
    """Encoder and decoder with long skip connections (Ronneberger et al. 2015)."""
    b, x, width, kept = picture(name, 256), "x", 3, []
    for level in range(depth + 1):
        out = base * 2**level
        x = b.conv(b.conv(x, width, out, 3, 1, f"down{level}"), out, out, 3, 1, f"down{level}")
        width = out
        if level < depth:
            kept.append((x, out))
            x = b.op("MaxPool", [x], f"down{level}", kernel_shape=[2, 2], strides=[2, 2])
    for level, (skip, out) in reversed(list(enumerate(kept))):
        place = f"up{level}"
        x = b.op("ConvTranspose", [x, b.weight(width, out, 2, 2)], place, strides=[2, 2])
        x = b.op("Concat", [skip, x], place, axis=1)
        x = b.conv(b.conv(x, 2 * out, out, 3, 1, place), out, out, 3, 1, place)
        width = out
    return b.model(b.conv(x, width, 2, 1, 1, "head", act=""))


def _attention(b: Builder, x: str, memory: str, width: int, heads: int, name: str) -> str:
    place = f"{name}/attention"
    shape, last = b.numbers(0, 0, heads, width // heads), b.numbers(0, 0, width)
    parts = []
    for value in (x, memory, memory):
        split = b.op("Reshape", [b.linear(value, width, width, place), shape], place)
        parts.append(split)
    query = b.op("Transpose", [parts[0]], place, perm=[0, 2, 1, 3])
    keys = b.op("Transpose", [parts[1]], place, perm=[0, 2, 3, 1])
    values = b.op("Transpose", [parts[2]], place, perm=[0, 2, 1, 3])
    weights = b.op("Softmax", [b.op("MatMul", [query, keys], place)], place, axis=-1)
    mixed = b.op("Transpose", [b.op("MatMul", [weights, values], place)], place, perm=[0, 2, 1, 3])
    return b.linear(b.op("Reshape", [mixed, last], place), width, width, place)


def _block(b: Builder, x: str, width: int, heads: int, name: str, memory: str | None = None) -> str:
    x = b.op("Add", [x, _attention(b, (y := b.norm(x, width, name)), y, width, heads, name)], name)
    if memory is not None:
        x = b.op(
            "Add", [x, _attention(b, b.norm(x, width, name), memory, width, heads, f"{name}/cross")], name
        )
    y = b.op("Gelu", [b.linear(b.norm(x, width, name), width, 4 * width, f"{name}/mlp")], f"{name}/mlp")
    return str(b.op("Add", [x, b.linear(y, 4 * width, width, f"{name}/mlp")], name))


def _embedded(b: Builder, tokens: str, vocabulary: int, width: int, length: int) -> str:
    x = b.op("Gather", [b.weight(vocabulary, width), tokens], "embedding")
    return str(b.op("Add", [x, b.weight(length, width)], "embedding"))


def language_model(name: str, layers: int, width: int, heads: int, vocabulary: int, length: int = 512) -> Any:
    """Transformer blocks between an embedding and logits (Radford et al. 2019; Devlin et al. 2019)."""
    b = Builder(name, [1, length], TensorProto.INT64)
    x = _embedded(b, "x", vocabulary, width, length)
    for layer in range(layers):
        x = _block(b, x, width, heads, f"layer{layer}")
    return b.model(b.op("MatMul", [b.norm(x, width, "head"), b.weight(width, vocabulary)], "head"))


def translator(name: str, layers: int = 6, width: int = 512, heads: int = 8) -> Any:
    """Encoder and decoder that reads it in every layer (Vaswani et al. 2017)."""
    b = Builder(name, [1, 256], TensorProto.INT64)
    source = target = _embedded(b, "x", 32000, width, 256)
    for layer in range(layers):
        source = _block(b, source, width, heads, f"encoder{layer}")
    for layer in range(layers):
        target = _block(b, target, width, heads, f"decoder{layer}", source)
    return b.model(b.op("MatMul", [target, b.weight(width, 32000)], "head"))


def vision_transformer(name: str, layers: int, width: int, heads: int) -> Any:
    """Patches of 16 x 16 as tokens (Dosovitskiy et al. 2021)."""
    b = picture(name)
    patches = b.op("Conv", ["x", b.weight(width, 3, 16, 16)], "stem", strides=[16, 16])
    x = b.op("Reshape", [patches, b.numbers(0, width, 196)], "stem")
    x = b.op("Transpose", [x], "stem", perm=[0, 2, 1])
    for layer in range(layers):
        x = _block(b, x, width, heads, f"layer{layer}")
    return b.model(b.linear(b.norm(x, width, "head"), width, 1000, "head"))


def mixture(name: str, layers: int, experts: int, width: int = 512, heads: int = 8) -> Any:
    """Blocks whose feed-forward is experts side by side, weighted by a gate (Shazeer et al. 2017)."""
    b = Builder(name, [1, 128], TensorProto.INT64)
    x = _embedded(b, "x", 32000, width, 128)
    for layer in range(layers):
        place = f"layer{layer}"
        x = b.op("Add", [x, _attention(b, (y := b.norm(x, width, place)), y, width, heads, place)], place)
        y = b.norm(x, width, place)
        gate = b.op("Softmax", [b.op("MatMul", [y, b.weight(width, experts)], place)], place, axis=-1)
        shares = b.op("Split", [gate], place, outputs=experts, axis=-1, num_outputs=experts)
        outputs = []
        for expert in range(experts):
            inside = f"{place}/expert{expert}"
            inner = b.op("Gelu", [b.linear(y, width, 4 * width, inside)], inside)
            outputs.append(b.op("Mul", [b.linear(inner, 4 * width, width, inside), shares[expert]], inside))
        x = b.op("Add", [x, b.op("Sum", outputs, place)], place)
    return b.model(b.op("MatMul", [x, b.weight(width, 32000)], "head"))


_VGG16 = [[64] * 2, [128] * 2, [256] * 3, [512] * 3, [512] * 3]
MODELS: dict[str, Callable[[str], Any]] = {
    "resnet18": lambda name: resnet(name, [2, 2, 2, 2], False),
    "resnet50": lambda name: resnet(name, [3, 4, 6, 3], True),
    "resnet152": lambda name: resnet(name, [3, 8, 36, 3], True),
    "vgg16": lambda name: vgg(name, _VGG16),
    "densenet121": lambda name: densenet(name, [6, 12, 24, 16]),
    "densenet201": lambda name: densenet(name, [6, 12, 48, 32]),
    "mobilenet_v2": mobilenet,
    "googlenet": googlenet,
    "squeezenet": squeezenet,
    "unet": unet,
    "bert_base": lambda name: language_model(name, 12, 768, 12, 30522),
    "bert_large": lambda name: language_model(name, 24, 1024, 16, 30522),
    "gpt2": lambda name: language_model(name, 12, 768, 12, 50257, 1024),
    "gpt2_xl": lambda name: language_model(name, 48, 1600, 25, 50257, 1024),
    "transformer_base": translator,
    "vit_b16": lambda name: vision_transformer(name, 12, 768, 12),
    "vit_l16": lambda name: vision_transformer(name, 24, 1024, 16),
    "moe_8x8": lambda name: mixture(name, 8, 8),
    "moe_12x32": lambda name: mixture(name, 12, 32),
}
"""Each model by its name."""
