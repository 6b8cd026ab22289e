# SPDX-License-Identifier: Apache-2.0
"""A peer's side of `narrowgauge bench --inference --against onnxruntime,openvino`: answers requests to
a model file of ONNX in one precision, and obeys lines of words with tabs between them, each answered
by one line of JSON:

  open MODEL INPUTS OUTPUTS    loads the file, answers once on the arrays of INPUTS (npz), writes its
                               answers to OUTPUTS (npz); seconds of both, bytes that they added
  run SECONDS                  answers again and again for about so long; seconds of each answer

`python3 inference_peer.py PEER PRECISION THREADS`. The first line, before any was asked for, is the
peer's version. An answer with "error" says in one line what could not be done."""

import json
import os
import signal
import sys
import time

# Waiting threads must not keep the cores from the engine whose turn it is. Read at the peer's start.
os.environ["OMP_WAIT_POLICY"] = "passive"


def say(**fields):
    print(json.dumps(fields), flush=True)


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class OnnxRuntime:
    """All optimizations, and threads that sleep while others have their turn."""

    def __init__(self, precision, threads):
        import onnxruntime

        if precision != "f32":
            raise ValueError("ONNX Runtime computes a file as it is, in f32")
        self.library, self.threads, self.version = onnxruntime, threads, onnxruntime.__version__

    def load(self, path):
        options = self.library.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = self.library.InferenceSession(
            path, options, providers=["CPUExecutionProvider"]
        )
        self.names = [output.name for output in self.session.get_outputs()]

    def set_inputs(self, inputs):
        self.inputs = inputs

    def answer(self):
        return dict(zip(self.names, self.session.run(None, self.inputs)))

    def times(self, seconds):
        return one_after_another(self.answer, seconds)


class OpenVino:
    """One request at a time for a batch of 1 (its mode LATENCY), as many as it asks for beyond (its
    mode THROUGHPUT)."""

    def __init__(self, precision, threads):
        import openvino

        self.core = openvino.Core()
        if precision == "bf16" and "BF16" not in self.core.get_property(
            "CPU", "OPTIMIZATION_CAPABILITIES"
        ):
            raise ValueError("OpenVINO has no bf16 on this CPU")
        self.library, self.precision, self.threads = openvino, precision, threads
        self.version = openvino.__version__.split("-")[0]

    def load(self, path):
        self.model = self.core.read_model(path)

    def set_inputs(self, inputs):
        self.inputs = inputs
        batch = next(iter(inputs.values())).shape[:1]
        self.alone = batch in ((), (1,))
        self.model.reshape({name: list(array.shape) for name, array in inputs.items()})
        self.compiled = self.core.compile_model(
            self.model,
            "CPU",
            {
                "INFERENCE_PRECISION_HINT": self.precision,
                "INFERENCE_NUM_THREADS": str(self.threads),
                "PERFORMANCE_HINT": "LATENCY" if self.alone else "THROUGHPUT",
            },
        )
        self.request = self.compiled.create_infer_request()

    def answer(self):
        results = self.request.infer(self.inputs)
        return {port.get_any_name(): array for port, array in results.items()}

    def times(self, seconds):
        if self.alone:
            return one_after_another(self.answer, seconds)
        queue = self.library.AsyncInferQueue(self.compiled)

        def group():
            for _ in range(len(queue)):
                queue.start_async(self.inputs)
            queue.wait_all()

        return [each / len(queue) for each in one_after_another(group, seconds)]


def one_after_another(answer, seconds):
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        answer()
        times.append(time.perf_counter() - start)
    return times


class Session:
    def __init__(self, peer):
        self.peer = peer

    def open(self, model, inputs, outputs):
        arrays = dict(numpy.load(inputs))
        before, start = resident_bytes(), time.perf_counter()
        self.peer.load(model)
        self.peer.set_inputs(arrays)
        answers = self.peer.answer()
        seconds = time.perf_counter() - start
        numpy.savez(outputs, **{name: numpy.asarray(array) for name, array in answers.items()})
        return {"seconds": seconds, "bytes": max(0, resident_bytes() - before)}

    def run(self, seconds):
        return {"seconds": self.peer.times(float(seconds))}


def main():
    # Ctrl-C is for the program that asks; it then closes our input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    name, precision, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    allowed = sorted(os.sched_getaffinity(0))
    if threads < len(allowed):
        os.sched_setaffinity(0, allowed[:threads])
    try:
        peer = {"onnxruntime": OnnxRuntime, "openvino": OpenVino}[name](precision, threads)
    except ImportError as error:
        say(error=f"{sys.executable}: {error}", missing=True)
        return
    except ValueError as error:
        say(error=str(error))
        return
    say(version=peer.version)
    session = Session(peer)
    for line in sys.stdin:
        command, *words = line.rstrip("\n").split("\t")
        try:
            say(**{"open": session.open, "run": session.run}[command](*words))
        except Exception as error:  # peers have exceptions of their own
            say(error=" ".join(str(error).split()))


try:
    import numpy
except ImportError as missing:
    say(error=f"{sys.executable}: {missing}", missing=True)
else:
    if __name__ == "__main__":
        main()
