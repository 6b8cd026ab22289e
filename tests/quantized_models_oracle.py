# SPDX-License-Identifier: Apache-2.0
"""Networks that ONNX Runtime's tool has quantised (QDQ, QOperator, dynamic), against ONNX Runtime.
Of each static network every value that is quantised must be within one step of ONNX Runtime's for
the same bytes before it, and trained ones must find the same class. Of a dynamic one each product
must be within 1e-5 for the same numbers before it, and its outputs within 1e-2, or within what
separates ONNX Runtime's own optimised run from its plain one: f32 ops between products round
otherwise there, and a byte that flips travels on. Weights have 7 bits, as ONNX Runtime's kernels
for u8 by s8 saturate on CPUs without VNNI."""

import importlib.util
import os
import pathlib
import sys
import tempfile

from support.exported_models import PROGRAM, run

NETWORKS = {
    "lenet": [],
    "resnet20": [],
    "mobilenet_v2": ["--image", "3x64x64"],
    "tiny-transformer": [],
    "bert-base": ["--sequence", "16"],
}
LARGE = {"resnet50": ["--image", "3x224x224"]}
TRAINED = ("mnist_cntk", "resnet20_cifar10")
# Their masks of minus infinity have no scale.
TRANSFORMERS = ("tiny-transformer", "bert-base")
CONTRACTIONS = ("Conv", "MatMul", "Gemm")
IMAGES = 64
DYNAMIC_BOUND = 1e-2
PRODUCT_BOUND = 1e-5


def random_inputs(file, seed, batch):
    """For the inputs of a model, by their names."""
    import numpy
    import onnx

    random = numpy.random.default_rng(seed)
    graph = onnx.load(file, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    made = {}
    for value in graph.input:
        if value.name in constants:
            continue
        tensor = value.type.tensor_type
        shape = [size.dim_value or batch for size in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        whole = numpy.issubdtype(dtype, numpy.integer)
        numbers = random.integers(0, 2, shape) if whole else random.standard_normal(shape)
        made[value.name] = numbers.astype(dtype)
    return made


class Calibration:
    """Inputs that ONNX Runtime finds ranges with."""

    def __init__(self, file):
        self.left = [random_inputs(file, seed, 1) for seed in range(3)]

    def get_next(self):
        return self.left.pop() if self.left else None


def forms():
    """What is said to ONNX Runtime's tool, by the name of the form."""
    from onnxruntime.quantization import QuantFormat, QuantType

    u8, i8 = QuantType.QUInt8, QuantType.QInt8
    said = {
        "qdq u8 channels": (QuantFormat.QDQ, u8, i8, True),
        "qdq u8": (QuantFormat.QDQ, u8, i8, False),
        "qdq i8": (QuantFormat.QDQ, i8, i8, False),
        "qdq u8 u8": (QuantFormat.QDQ, u8, u8, False),
        "qoperator u8": (QuantFormat.QOperator, u8, i8, False),
        "qoperator i8": (QuantFormat.QOperator, i8, i8, False),
    }
    return {
        name: dict(
            quant_format=form,
            activation_type=activation,
            weight_type=weight,
            per_channel=channels,
            reduce_range=weight == i8,
            extra_options={"QDQDisableWeightAdjustForInt32Bias": True},
        )
        for name, (form, activation, weight, channels) in said.items()
    }


def outputs_of_runtime(file, inputs, wanted=(), optimized=False):
    """The outputs of the file, or the named values inside of it."""
    import onnx
    import onnxruntime

    model = onnx.load(file)
    for name in wanted:
        model.graph.output.append(onnx.ValueInfoProto(name=name))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    names = list(wanted) or [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))


def outputs_of_ours(file, inputs, folder):
    import numpy

    given, made = folder / "inputs.npz", folder / "outputs.npz"
    numpy.savez(given, **inputs)
    run("run", file, "--input", given, "--output", made, "--quiet")
    with numpy.load(made) as outputs:
        return dict(outputs)


def relative_difference(found, expected):
    import numpy

    worst = 0.0
    for name, array in expected.items():
        distance = numpy.abs(found[name].astype(float) - array.astype(float)).max(initial=0.0)
        worst = max(worst, distance / max(numpy.abs(array).max(initial=0.0), 1e-30))
    return worst


def groups_of(file):
    """Each value that a node quantises, with the values before it that were quantised: what is
    between them is one group."""
    import onnx

    graph = onnx.load(file).graph
    makers = {name: node for node in graph.node for name in node.output}
    for node in graph.node:
        if node.op_type != "QuantizeLinear":
            continue
        inputs, inner, open_values, depth = set(), [node], [node.input[0]], 0
        while open_values:
            name = open_values.pop()
            maker = makers.get(name)
            if maker is None or maker.op_type == "QuantizeLinear":
                inputs.add(name)
            elif maker not in inner:
                depth += maker.op_type in CONTRACTIONS
                inner.append(maker)
                open_values += [name for name in maker.input if name]
        yield node, inputs, inner, depth


def checked_groups(file, inputs, folder):
    """Runs the groups with a contraction by themselves, on ONNX Runtime's bytes; returns how many
    there are, and the largest difference in steps."""
    import numpy
    import onnx

    model = onnx.load(file)
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    groups = [group for group in groups_of(file) if group[3] > 0]
    wanted = sorted({name for node, before, _, _ in groups for name in [*before, node.output[0]]
                     if name not in constants and name not in inputs})
    values = outputs_of_runtime(file, inputs, wanted) | inputs
    worst = 0
    for node, before, inner, _ in groups:
        order = [each for each in model.graph.node if each in inner]
        kept = [constants[name] for each in order for name in dict.fromkeys(each.input)
                if name in constants]
        given = [name for name in before if name not in constants]
        ports = [
            onnx.helper.make_tensor_value_info(
                name, onnx.helper.np_dtype_to_tensor_dtype(values[name].dtype), values[name].shape
            )
            for name in (*given, node.output[0])
        ]
        part = onnx.helper.make_graph(order, "group", ports[:-1], ports[-1:], [
            tensor for tensor in {tensor.name: tensor for tensor in kept}.values()])
        alone = folder / "group.onnx"
        onnx.save(onnx.helper.make_model(part, opset_imports=model.opset_import), alone)
        found = outputs_of_ours(alone, {name: values[name] for name in given}, folder)
        steps = found[node.output[0]].astype(int) - values[node.output[0]].astype(int)
        worst = max(worst, int(numpy.abs(steps).max(initial=0)))
    return len(groups), worst


def same_classes(found, expected):
    """For each sample whether the class with the best score is one of the best for ONNX Runtime:
    scores are whole numbers of steps, and those within one step of each other are no different."""
    import numpy

    name = next(iter(expected))
    rows = expected[name].reshape(-1, expected[name].shape[-1])
    classes = found[name].reshape(rows.shape).argmax(1)
    gaps = numpy.diff(numpy.unique(rows))
    step = gaps[gaps > 1e-6 * numpy.abs(rows).max()].min(initial=numpy.inf)
    return rows[numpy.arange(len(rows)), classes] >= rows.max(1) - 1.01 * step


def compare_static(title, file, folder, images, is_trained):
    """A network of one image at a time gets fewer of them. The classes of random weights are those of
    nearly equal scores."""
    import numpy

    inputs = random_inputs(file, 5, 2)
    count, steps = checked_groups(file, inputs, folder) if "qdq" in title else (0, 0)
    off, same = 0.0, []
    one_by_one = len(next(iter(inputs.values()))) == 1
    for seed in range(8 if one_by_one else 1):
        many = random_inputs(file, 9 + seed, images)
        found, expected = outputs_of_ours(file, many, folder), outputs_of_runtime(file, many)
        off = max(off, relative_difference(found, expected))
        same.append(numpy.mean(same_classes(found, expected)))
    share = float(numpy.mean(same))
    agree = steps <= 1 and (share >= 0.999 or not is_trained)
    print(f"{title}: {count} groups within {steps} steps, outputs off by {off:.1e}, "
          f"{100 * share:.1f} % of the same class{'' if agree else ' TOO FAR'}", flush=True)
    return agree


def dynamic_products(model):
    """Pairs of a value that is quantised for a product of bytes, and the product in f32."""
    makers = {name: node for node in model.graph.node for name in node.output}
    for node in model.graph.node:
        if node.op_type not in ("MatMulInteger", "ConvInteger"):
            continue
        result = node.output[0]
        for op_type in ("Cast", "Mul"):
            result = next(user.output[0] for user in model.graph.node
                          if user.op_type == op_type and result in user.input)
        yield makers[node.input[0]].input[0], result


def difference_of_products(file, inputs, folder):
    """How many products there are, and the largest difference of one on ONNX Runtime's numbers."""
    import onnx

    model = onnx.shape_inference.infer_shapes(onnx.load(file))
    pairs = list(dynamic_products(model))
    wanted = sorted({name for pair in pairs for name in pair if name not in inputs})
    values = outputs_of_runtime(file, inputs, wanted) | inputs
    whole, part, worst = folder / "with_shapes.onnx", folder / "product.onnx", 0.0
    onnx.save(model, whole)
    for before, after in pairs:
        onnx.utils.extract_model(str(whole), str(part), [before], [after], check_model=False)
        found = outputs_of_ours(part, {before: values[before]}, folder)
        worst = max(worst, mean_difference(found, {after: values[after]}))
    return len(pairs), worst


def mean_difference(found, expected):
    """By the root mean square: a byte that is rounded the other way moves few numbers by a step."""
    import numpy

    return max(
        float(numpy.linalg.norm(found[name] - array) / max(numpy.linalg.norm(array), 1e-30))
        for name, array in expected.items()
    )


def compare_dynamic(title, file, folder):
    inputs = random_inputs(file, 5, 2)
    count, of_products = difference_of_products(file, inputs, folder)
    expected = outputs_of_runtime(file, inputs)
    off = mean_difference(outputs_of_ours(file, inputs, folder), expected)
    own = mean_difference(outputs_of_runtime(file, inputs, optimized=True), expected)
    agree = count > 0 and of_products <= PRODUCT_BOUND and off <= max(DYNAMIC_BOUND, own)
    print(f"{title}: {count} products off by {of_products:.1e}, outputs by {off:.1e}, ONNX Runtime's "
          f"own, optimised, by {own:.1e}{'' if agree else ' TOO FAR'}", flush=True)
    return agree


def prepared(source, folder):
    """A file that the tool takes, of an opset with scales for each channel, and with normalizations
    in the convolutions."""
    import onnx
    from onnxruntime.quantization.shape_inference import quant_pre_process

    model, file = onnx.load(source), folder / "prepared.onnx"
    opset = next(each.version for each in model.opset_import if each.domain in ("", "ai.onnx"))
    if opset < 13:
        model = onnx.version_converter.convert_version(model, 13)
    onnx.save(model, folder / "of_newer_opset.onnx")
    quant_pre_process(str(folder / "of_newer_opset.onnx"), str(file), skip_symbolic_shape=True)
    return file


def runs_in_runtime(file):
    try:
        outputs_of_runtime(file, random_inputs(file, 5, 2))
    except Exception:
        return False
    return True


def check(name, source, folder, images):
    from onnxruntime.quantization import QuantType, quantize_dynamic, quantize_static

    file, made = prepared(source, folder), folder / "quantized.onnx"
    agree = True
    for form, options in forms().items():
        if name in LARGE and form not in ("qdq u8 channels", "qoperator u8"):
            continue
        if name in TRANSFORMERS:
            options["op_types_to_quantize"] = list(CONTRACTIONS)
        quantize_static(str(file), str(made), Calibration(file), **options)
        if not runs_in_runtime(made):
            print(f"[SKIP] {name} {form}: ONNX Runtime refuses the file of its own tool", flush=True)
            continue
        agree &= compare_static(f"{name} {form}", made, folder, images, name in TRAINED)
    quantize_dynamic(str(file), str(made), weight_type=QuantType.QInt8, reduce_range=True)
    return compare_dynamic(f"{name} dynamic", made, folder) and agree


def sources(folder, only):
    for name, flags in (NETWORKS | LARGE).items():
        if only and name not in only:
            continue
        file = folder / "network.onnx"
        run("export", "--model", name, *flags, "--onnx", file)
        yield name, file
    source = pathlib.Path(os.environ.get("NARROWGAUGE_SOURCE", "."))
    data = pathlib.Path(os.environ.get("NARROWGAUGE_DATA", source / ".." / "shared" / "data"))
    for name in ("mnist_cntk", "resnet20_cifar10"):
        file = data / "onnx_models" / name / "model.onnx"
        if file.exists() and (not only or name in only):
            yield name, file


def main():
    for package in ("onnx", "onnxruntime"):
        if importlib.util.find_spec(package) is None:
            print(f"[SKIP] {package} is not installed")
            return 0
    only = sys.argv[1:]
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name, file in sources(folder, only):
            try:
                failed |= not check(name, file, folder, 2 if name in LARGE else IMAGES)
            except Exception as error:
                print(f"{name}: FAILED: {error}", flush=True)
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
