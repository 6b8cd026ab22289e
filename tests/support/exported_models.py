# SPDX-License-Identifier: Apache-2.0
"""The program under test, and the graphs in the model files of ONNX that it writes."""

import hashlib
import os
import pathlib
import subprocess

PROGRAM = pathlib.Path(os.environ["NARROWGAUGE_BUILD"]) / "narrowgauge"


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return done.stdout


def nodes_of(file):
    """The graph without made-up names and whatever order the nodes have: a digest of each node's
    op, attributes, and all that it is computed from; of a Reshape the shape, however it is said."""
    import onnx

    def digest(*parts):
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    graph = onnx.load(file, load_external_data=False).graph
    values = {"": ""} | {value.name: value.name for value in graph.input}
    for tensor in graph.initializer:
        name, tensor.name = tensor.name, ""
        values[name] = digest(tensor.SerializeToString())
    types = {value.name: str(value.type) for value in (*graph.value_info, *graph.output)}
    nodes = []
    for node in graph.node:
        attributes = sorted(str(attribute) for attribute in node.attribute)
        inputs = [values.get(name, name) for name in node.input]
        if node.op_type == "Reshape" and node.output[0] in types:
            inputs[1] = types[node.output[0]]
        nodes.append(digest(node.op_type, attributes, inputs))
        values |= {name: f"{nodes[-1]}@{place}" for place, name in enumerate(node.output)}
    return sorted(nodes), [(value.name, values[value.name]) for value in graph.output]
