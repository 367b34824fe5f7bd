"""ONNX files as graphs: work from shapes, symbolic dimensions by name, files cut short."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dse.base.errors import InputError
from dse.partition.graphs.sources.onnx_file import read_onnx

onnx = pytest.importorskip("onnx", reason="ONNX files need the extra onnx: pip install 'dse[onnx]'")


def small_model(batch: int | str = "batch") -> Any:
    """(batch, 3, 8, 8) → convolution of 4 3x3 kernels → relu → flatten → 144 x 10 product → softmax."""
    from onnx import TensorProto, helper

    def weight(name: str, shape: tuple[int, ...]) -> Any:
        size = 1
        for one in shape:
            size *= one
        return helper.make_tensor(name, TensorProto.FLOAT, shape, bytes(4 * size), raw=True)

    nodes = [
        helper.make_node("Conv", ["x", "k"], ["c"], name="/stem/conv"),
        helper.make_node("Relu", ["c"], ["r"], name="/stem/relu"),
        helper.make_node("Flatten", ["r"], ["f"], name="/head/flatten"),
        helper.make_node("Gemm", ["f", "w", "b"], ["g"], name="/head/fc"),
        helper.make_node("Softmax", ["g"], ["y"], name="/head/softmax"),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 10])],
        [weight("k", (4, 3, 3, 3)), weight("w", (144, 10)), weight("b", (10,))],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def _written(folder: Path, model: Any) -> Path:
    path = folder / "m.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_operators_have_operations_parameters_and_bytes(tmp_path: Path) -> None:
    source = read_onnx(_written(tmp_path, small_model()), {"batch": 2})
    convolution, relu, flatten, product, softmax = source.operators
    assert convolution.flops == 2 * (2 * 4 * 6 * 6) * 27
    assert convolution.parameters == 108
    assert convolution.activation_bytes == 4 * 2 * 4 * 36
    assert convolution.touched_bytes == 4 * (2 * 3 * 64 + 108 + 2 * 4 * 36)
    assert convolution.module == "stem"
    assert (relu.flops, flatten.flops) == (288, 0)
    assert product.flops == 2 * 2 * 144 * 10
    assert product.parameter_bytes == 4 * (1440 + 10)
    assert softmax.flops == 5 * 20
    assert source.edges == ((0, 1), (1, 2), (2, 3), (3, 4))
    assert source.edge_bytes == (1152, 1152, 1152, 80)


def test_unknown_symbolic_dimensions_are_asked_for_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"symbolic dimensions batch are unknown; write dims=\{batch:8\}"):
        read_onnx(_written(tmp_path, small_model()))


def test_dimension_without_a_name_is_called_by_its_place(tmp_path: Path) -> None:
    model = small_model()
    model.graph.input[0].type.tensor_type.shape.dim[0].ClearField("dim_param")
    path = _written(tmp_path, model)
    with pytest.raises(InputError, match=r"dimensions x\.0 are unknown"):
        read_onnx(path)
    assert read_onnx(path, {"x.0": 2}).operators[1].flops == 288


def test_size_of_a_dimension_that_the_model_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="dims names seq, but the model has batch"):
        read_onnx(_written(tmp_path, small_model()), {"batch": 1, "seq": 2})
    with pytest.raises(InputError, match="dims names seq, but the model has none"):
        read_onnx(_written(tmp_path, small_model(3)), {"seq": 2})


def test_file_cut_short_anywhere_is_one_line(tmp_path: Path) -> None:
    content = small_model(2).SerializeToString()
    path = tmp_path / "cut.onnx"
    for length in range(0, len(content), 97):
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match=r"cut\.onnx: .*cut short") as caught:
            read_onnx(path)
        assert "\n" not in str(caught.value)


def test_value_that_nothing_makes_is_named(tmp_path: Path) -> None:
    model = small_model(2)
    model.graph.node[1].input[0] = "nowhere"
    with pytest.raises(InputError, match="operator /stem/relu uses 'nowhere'"):
        read_onnx(_written(tmp_path, model))
