# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of `narrowgauge bench --against torch`: trains the same networks on the same batch
and obeys lines of words with tabs between them, each answered by one line of JSON:

  open MODEL WEIGHTS BATCH        the network, with two safetensors files
  step PRECISION LAYOUT COUNT     so many steps; seconds, and the loss of each

The first line, before any was asked for, is torch's version. An answer with "error" says in one line
what could not be done."""

import json
import os
import pathlib
import signal
import sys
import time

# Waiting threads must not keep the cores from the engine whose turn it is. Read at torch's start.
os.environ["OMP_WAIT_POLICY"] = "passive"


def say(**fields):
    print(json.dumps(fields), flush=True)


try:
    import torch
    from torch.nn import functional

    import numpy
    from torch_models import make_model
except ImportError as error:
    say(error=f"{sys.executable}: {error}")
    sys.exit(0)

LAYOUTS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


def read_safetensors(path):
    dtypes = {"F32": "<f4", "I64": "<i8"}
    content = pathlib.Path(path).read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = numpy.frombuffer(content[start + begin : start + end], dtypes[entry["dtype"]])
        tensors[name] = torch.from_numpy(values.reshape(entry["shape"]).copy())
    return tensors


def load(model, weights):
    """All of the weights and nothing else; torch's own counters of batches may be missing."""
    missing, unexpected = model.load_state_dict(weights, strict=False)
    missing = [name for name in missing if not name.endswith("num_batches_tracked")]
    if missing or unexpected:
        raise ValueError(f"the networks differ: no {missing}, not used {unexpected}")


def in_layout(tensor, layout):
    return tensor.contiguous(memory_format=LAYOUTS[layout]) if tensor.dim() == 4 else tensor


class TorchTrainer:
    """Steps as torch's users write them, with its fused update, in one memory layout."""

    def __init__(self, name, weights, batch, precision, layout):
        self.model = make_model(name, weights, batch)
        load(self.model, weights)
        self.model.train().to(memory_format=LAYOUTS[layout])
        self.inputs = {
            key: in_layout(tensor, layout) for key, tensor in batch.items() if key != "labels"
        }
        self.labels = batch["labels"]
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, fused=True)
        self.narrow = precision == "bf16"

    def scores(self):
        if "images" in self.inputs:
            return self.model(self.inputs["images"])
        if "tokens" in self.inputs:
            return self.model(self.inputs["tokens"])
        return self.model(**self.inputs).logits

    def step(self):
        self.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.narrow):
            scores = self.scores()
            loss = functional.cross_entropy(scores.flatten(0, -2), self.labels.flatten())
        loss.backward()
        self.optimizer.step()
        return loss.item()


class Session:
    """One network at a time, in any number of precisions and layouts."""

    def __init__(self):
        self.name, self.files, self.trainers = "", (), {}

    def open(self, name, weights, batch):
        self.name, self.trainers = name, {}
        self.files = read_safetensors(weights), read_safetensors(batch)
        make_model(name, *self.files)
        return {"model": name}

    def step(self, precision, layout, count):
        if (precision, layout) not in self.trainers:
            self.trainers[precision, layout] = TorchTrainer(
                self.name, *self.files, precision, layout
            )
        trainer = self.trainers[precision, layout]
        start = time.perf_counter()
        losses = [trainer.step() for _ in range(int(count))]
        return {"seconds": time.perf_counter() - start, "losses": losses}


def main():
    # Ctrl-C is for the program that asks; it then closes our input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threads = int(sys.argv[1])
    allowed = sorted(os.sched_getaffinity(0))
    if threads < len(allowed):
        os.sched_setaffinity(0, allowed[:threads])
    torch.set_num_threads(threads)
    say(torch=torch.__version__)
    session = Session()
    for line in sys.stdin:
        command, *words = line.rstrip("\n").split("\t")
        try:
            say(**{"open": session.open, "step": session.step}[command](*words))
        except (ImportError, ValueError, RuntimeError, MemoryError, OSError) as error:
            say(error=" ".join(str(error).split()))


if __name__ == "__main__":
    main()
