"""Trains a small classifier on three spirals. Everything that the next step depends on (weights, Adam's moments, the
random generator) is in the checkpoint, so a run that was interrupted ends bit for bit like one that was not."""

import io
import itertools
import json
import os
import signal
import sys
import time
from pathlib import Path

# One thread: the order in which a sum is added up must not depend on the machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from exchange import Exchange

RANK = int(os.environ.get("TRAINRIG_RANK", "0"))
NODES = int(os.environ.get("TRAINRIG_NODES", "1"))
CHECKPOINT = Path(os.environ.get("TRAINRIG_CHECKPOINT_DIR", "/checkpoints")) / "latest.npz"
METRICS = Path(os.environ.get("TRAINRIG_OUTPUT_DIR", "/outputs")) / "metrics.json"
STEPS = int(os.environ.get("STEPS", "160"))
PACE_SECONDS = float(os.environ.get("PACE_SECONDS", "0"))

LAYERS = (2, 64, 64, 3)
BATCH = 256
CHECKPOINT_EVERY = 20
LEARNING_RATE, BETA1, BETA2, EPSILON = 1e-2, 0.9, 0.999, 1e-8


def say(**values):
    print(json.dumps(values), flush=True)


def spirals(points=600):
    """Coordinates (3 * points, 2) and classes."""
    random = np.random.default_rng(1)
    turn = np.linspace(0.1, 1, points)
    x, y = [], []
    for label in range(3):
        angle = 4 * turn + label * 2 * np.pi / 3 + random.normal(0, 0.15, points)
        x.append(np.stack([turn * np.sin(angle), turn * np.cos(angle)], axis=1))
        y.append(np.full(points, label))
    return np.concatenate(x), np.concatenate(y)


def first_state():
    random = np.random.default_rng(2)
    weights = [random.normal(0, np.sqrt(2 / i), (i, o)) for i, o in itertools.pairwise(LAYERS)]
    parameters = np.concatenate([np.concatenate([w.ravel(), np.zeros(w.shape[1])]) for w in weights])
    zeros = np.zeros_like(parameters)
    generator = json.dumps(np.random.default_rng(3).bit_generator.state)
    return {"step": 0, "parameters": parameters, "m": zeros, "v": zeros, "generator": generator}


def layers(parameters):
    """Views of the flat vector: one (weights, bias) a layer."""
    found, at = [], 0
    for rows, columns in itertools.pairwise(LAYERS):
        weights = parameters[at : at + rows * columns].reshape(rows, columns)
        at += rows * columns
        found.append((weights, parameters[at : at + columns]))
        at += columns
    return found


def loss_and_gradient(parameters, x, y):
    gradient = np.zeros_like(parameters)
    forward, backward = layers(parameters), layers(gradient)
    inputs = [x]
    for weights, bias in forward[:-1]:
        inputs.append(np.maximum(inputs[-1] @ weights + bias, 0))
    logits = inputs[-1] @ forward[-1][0] + forward[-1][1]
    logits = logits - logits.max(axis=1, keepdims=True)
    logarithms = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    rows = np.arange(len(y))
    delta = np.exp(logarithms)
    delta[rows, y] -= 1
    delta /= len(y)
    for (weights, _), (weight_gradient, bias_gradient), value in zip(
        reversed(forward), reversed(backward), reversed(inputs), strict=True
    ):
        weight_gradient[:] = value.T @ delta
        bias_gradient[:] = delta.sum(axis=0)
        delta = (delta @ weights.T) * (value > 0)
    return float(-logarithms[rows, y].mean()), gradient


def accuracy(parameters, x, y):
    for weights, bias in layers(parameters)[:-1]:
        x = np.maximum(x @ weights + bias, 0)
    weights, bias = layers(parameters)[-1]
    return float(((x @ weights + bias).argmax(axis=1) == y).mean())


def pack(state):
    buffer = io.BytesIO()
    np.savez(buffer, **state)
    return buffer.getvalue()


def unpack(content):
    with np.load(io.BytesIO(content)) as stored:
        state = {name: stored[name] for name in stored.files}
    return {**state, "step": int(state["step"]), "generator": str(state["generator"])}


def save(state):
    """The file is the old checkpoint or the new one, never half of one."""
    temporary = CHECKPOINT.with_suffix(".new")
    with temporary.open("wb") as file:
        file.write(pack(state))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(CHECKPOINT)


def train_step(state, x, y, exchange):
    random = np.random.default_rng()
    random.bit_generator.state = json.loads(state["generator"])
    # All ranks draw the same batch, and each takes its own part of it.
    mine = np.array_split(random.integers(0, len(y), BATCH), NODES)[RANK]
    loss, gradient = loss_and_gradient(state["parameters"], x[mine], y[mine])
    loss, *_ = averaged = exchange.mean(np.concatenate([[loss], gradient]))
    gradient = averaged[1:]
    step = state["step"] + 1
    m = BETA1 * state["m"] + (1 - BETA1) * gradient
    v = BETA2 * state["v"] + (1 - BETA2) * gradient**2
    change = LEARNING_RATE * (m / (1 - BETA1**step)) / (np.sqrt(v / (1 - BETA2**step)) + EPSILON)
    generator = json.dumps(random.bit_generator.state)
    parameters = state["parameters"] - change
    return float(loss), {"step": step, "parameters": parameters, "m": m, "v": v, "generator": generator}


def main():
    asked_to_stop = []
    signal.signal(signal.SIGTERM, lambda *_: asked_to_stop.append(True))
    x, y = spirals()
    exchange = Exchange(RANK, NODES)
    state = unpack(CHECKPOINT.read_bytes()) if CHECKPOINT.exists() else first_state()
    # Rank 0's checkpoint is the one that counts: all ranks go on from the same step.
    state = unpack(exchange.from_rank_0(pack(state)))
    say(event="start", rank=RANK, nodes=NODES, step=state["step"], steps=STEPS)
    while state["step"] < STEPS:
        began = time.monotonic()
        loss, state = train_step(state, x, y, exchange)
        last = state["step"] == STEPS
        if RANK == 0 and (state["step"] % CHECKPOINT_EVERY == 0 or last or asked_to_stop):
            save(state)
            say(event="step", step=state["step"], steps=STEPS, loss=round(loss, 6))
        if asked_to_stop and not last:
            say(event="stopped", rank=RANK, step=state["step"])
            sys.exit(128 + signal.SIGTERM)
        time.sleep(max(0.0, PACE_SECONDS - (time.monotonic() - began)))
    if RANK == 0:
        loss, _ = loss_and_gradient(state["parameters"], x, y)
        metrics = {"loss": loss, "accuracy": accuracy(state["parameters"], x, y), "steps": STEPS}
        METRICS.write_text(json.dumps(metrics) + "\n", encoding="utf-8")
        say(event="done", **metrics)


if __name__ == "__main__":
    main()
