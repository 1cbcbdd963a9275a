"""Training: softmax over the passages of a group plus a yes/no loss on each, on CPU threads.

The learning rate follows steps, never the clock, so a run is the same wherever it runs (up to the order in which sums are rounded).
Each thread has a replica of the model in bfloat16 (2.6 times as fast as float32 on one core with AMX); its gradients are its own and are
added after every step to the float32 weights, which the replicas then copy. A thread that is slowed down takes fewer pieces.
"""

import math
import pickle
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from training.batches import Ids, Pair, batch, pair, tokenize
from training.model import CrossEncoder
from training.negatives import Group


@dataclass(frozen=True, slots=True)
class Plan:
    """What decides a run."""

    steps: int
    groups_per_step: int = 16
    rate: float = 3e-4
    warm_up: int = 60  # steps
    cool_down: float = 0.6  # part of the steps over which the rate falls to nothing
    decay: float = 0.01
    clip: float = 1.0
    positive_weight: float = 2.0
    seed: int = 1
    threads: int = 2
    groups_per_piece: int = 4
    longest: int = 160  # tokens of a pair while training


@dataclass(frozen=True, slots=True)
class Example:
    """A group as token ids."""

    kind: str
    question: Ids
    passages: list[Ids]
    near: bool
    answered: bool

    @property
    def size(self) -> int:
        return len(self.question) + max(len(p) for p in self.passages)


def examples(groups: list[Group], tokenizer: Path, cache: Path | None = None) -> list[Example]:
    """Groups tokenised; `cache` keeps them for the next run."""
    if cache and cache.exists():
        return list(pickle.loads(cache.read_bytes()))
    questions = tokenize(tokenizer, [g.question for g in groups])
    passages = iter(tokenize(tokenizer, [p for g in groups for p in g.passages]))
    found = [
        Example(g.kind, q[:40], [next(passages)[:192] for _ in g.passages], g.near, g.answered)
        for g, q in zip(groups, questions, strict=True)
    ]
    if cache:
        cache.write_bytes(pickle.dumps(found))
    return found


def rate_at(step: int, plan: Plan) -> float:
    """Linear warm-up, a level stretch, linear cool-down: a run can be made longer until its cool-down has begun."""
    falling = plan.steps * plan.cool_down
    return plan.rate * min(1.0, (step + 1) / plan.warm_up, (plan.steps - step) / falling)


def batches(data: list[Example], plan: Plan) -> list[list[Example]]:
    """Every step's groups: shuffled each epoch, of like length within a step so that little is padding."""
    order = random.Random(plan.seed)
    steps: list[list[Example]] = []
    while len(steps) < plan.steps:
        shuffled = list(data)
        order.shuffle(shuffled)
        block = plan.groups_per_step * 40
        for start in range(0, len(shuffled) - block + 1, block):
            like = sorted(shuffled[start : start + block], key=lambda e: e.size)
            cut = [like[i : i + plan.groups_per_step] for i in range(0, block, plan.groups_per_step)]
            order.shuffle(cut)
            steps += cut
    return steps[: plan.steps]


class Trainer:
    """One model, a replica for each thread."""

    def __init__(self, model: CrossEncoder, words: NDArray[np.float32], plan: Plan) -> None:
        torch.manual_seed(plan.seed)
        self.model = model
        self._words = torch.from_numpy(words)
        self._plan = plan
        self._replicas = [self._replica() for _ in range(plan.threads)]
        self._trained = [p for p in model.parameters() if p.requires_grad]
        self._optimiser = torch.optim.AdamW(self._trained, plan.rate, betas=(0.9, 0.98), weight_decay=plan.decay, fused=True)

    def _replica(self) -> CrossEncoder:
        twin = CrossEncoder(len(self.model.layers), int(self.model.frozen))
        twin.load_state_dict(self.model.state_dict())
        return twin.in_bfloat16()

    def _refresh(self) -> None:
        with torch.no_grad():
            for twin in self._replicas:
                for mine, theirs in zip(self.model.parameters(), twin.parameters(), strict=True):
                    if mine.requires_grad:
                        theirs.copy_(mine)

    def save(self, path: Path, done: int) -> None:
        torch.save({"model": self.model.state_dict(), "optimiser": self._optimiser.state_dict(), "done": done}, path)

    def load(self, path: Path) -> int:
        """Goes on from a saved state; returns the steps it had done."""
        state = torch.load(path)
        self.model.load_state_dict(state["model"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._refresh()
        return int(state["done"])

    def step(self, groups: list[Example], number: int) -> float:
        """One update; returns the mean loss of a group."""
        size = self._plan.groups_per_piece
        pieces: SimpleQueue[list[Example]] = SimpleQueue()
        for start in range(0, len(groups), size):
            pieces.put(groups[start : start + size])
        losses: list[float] = []
        failures: list[BaseException] = []
        threads = [
            threading.Thread(target=self._work, args=(twin, pieces, len(groups), losses, failures)) for twin in self._replicas
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        for parameter, *twins in zip(self.model.parameters(), *(r.parameters() for r in self._replicas), strict=True):
            if not parameter.requires_grad:
                continue
            grads = [t.grad.float() for t in twins if t.grad is not None]
            parameter.grad = torch.stack(grads).sum(0) if len(grads) > 1 else grads[0]
            for twin in twins:
                twin.grad = None
        torch.nn.utils.clip_grad_norm_(self._trained, self._plan.clip)
        for setting in self._optimiser.param_groups:
            setting["lr"] = rate_at(number, self._plan)
        self._optimiser.step()
        self._refresh()
        return sum(losses) / len(groups)

    def _work(
        self, twin: CrossEncoder, pieces: "SimpleQueue[list[Example]]", count: int, losses: list[float], failures: list[BaseException]
    ) -> None:
        torch.set_num_threads(1)
        try:
            while True:
                loss = self._loss(twin, pieces.get_nowait())
                (loss / count).backward()
                losses.append(loss.item())
        except Empty:
            return
        except BaseException as failure:  # handed to the caller, which raises it
            failures.append(failure)

    def _loss(self, model: CrossEncoder, groups: list[Example]) -> torch.Tensor:
        """Summed over the groups."""
        pairs = [pair(g.question, p, self._plan.longest) for g in groups for p in g.passages]
        scores = self._in_halves(model, pairs)
        total = torch.zeros(())
        start = 0
        weight = torch.tensor(self._plan.positive_weight)
        for group in groups:
            part = scores[start : start + len(group.passages)]
            start += len(group.passages)
            truth = torch.zeros(len(part))
            if group.answered:
                truth[0] = 1
                total = total + F.cross_entropy(part[None], torch.zeros(1, dtype=torch.long))
            total = total + F.binary_cross_entropy_with_logits(part, truth, pos_weight=weight)
        return total

    def _in_halves(self, model: CrossEncoder, pairs: list[Pair]) -> torch.Tensor:
        """Scores in the given order; short and long pairs run apart, so that little of the work is padding."""
        order = sorted(range(len(pairs)), key=lambda i: len(pairs[i].ids))
        half = len(order) // 2
        scores = torch.cat([self.score_pairs(model, [pairs[i] for i in part]) for part in (order[:half], order[half:])])
        return scores[torch.argsort(torch.tensor(order))]

    def score_pairs(self, model: CrossEncoder, pairs: list[Pair]) -> torch.Tensor:
        arrays = batch(pairs)
        words = F.embedding(torch.from_numpy(arrays.ids), self._words)
        return torch.as_tensor(model(words, torch.from_numpy(arrays.mask), torch.from_numpy(arrays.side)))

    def score(self, pairs: list[Pair], size: int = 16) -> NDArray[np.float32]:
        """Logits without gradients, as a replica gives them."""
        scores = np.zeros(len(pairs), np.float32)
        order = sorted(range(len(pairs)), key=lambda i: len(pairs[i].ids))
        with torch.no_grad():
            for start in range(0, len(order), size):
                rows = order[start : start + size]
                scores[rows] = self.score_pairs(self._replicas[0], [pairs[i] for i in rows]).numpy()
        return scores


@dataclass(frozen=True, slots=True)
class Validation:
    """On groups of sources the model never saw."""

    loss: float  # yes/no loss of a passage
    first: float  # share of groups whose answer scores highest
    near: float  # share of near misses below the answer
    by_kind: dict[str, float]  # `first` for each kind

    def __str__(self) -> str:
        kinds = " ".join(f"{k} {v:.2f}" for k, v in sorted(self.by_kind.items()))
        return f"loss {self.loss:.4f} first {self.first:.3f} near {self.near:.3f} | {kinds}"


def validate(trainer: Trainer, data: list[Example]) -> Validation:
    scores = trainer.score([pair(e.question, p) for e in data for p in e.passages])
    losses, near = [], []
    right: Counter[str] = Counter()
    start = 0
    for example in data:
        part = scores[start : start + len(example.passages)]
        start += len(part)
        sign = np.where(np.arange(len(part)) == 0, -1.0, 1.0)
        losses.append(np.logaddexp(0, sign * part).mean())
        right[example.kind] += int(part.argmax() == 0)
        if example.near:
            near.append(part[0] > part[1])
    count = Counter(e.kind for e in data)
    by_kind = {k: right[k] / n for k, n in count.items()}
    return Validation(float(np.mean(losses)), right.total() / len(data), float(np.mean(near)), by_kind)


def train(trainer: Trainer, plan: Plan, data: list[Example], held_out: list[Example], out: Path, every: int) -> None:
    """Runs the plan, from where `out` left off if it is there; after every `every` steps, validates and writes the state.

    The state with the lowest loss on held-out groups is kept next to it, as `NAME-best.pt`.
    """
    done = trainer.load(out) if out.exists() else 0
    lowest = math.inf
    began, losses = time.monotonic(), []
    for number, groups in enumerate(batches(data, plan)[done:], done):
        losses.append(trainer.step(groups, number))
        if not math.isfinite(losses[-1]):
            raise ValueError(f"the loss is {losses[-1]} at step {number}")
        if number % 10 == 9:
            print(f"{time.monotonic() - began:.0f} s, step {number + 1} of {plan.steps}, loss {np.mean(losses[-30:]):.4f}", flush=True)
        if number % every == every - 1 or number == plan.steps - 1:
            trainer.save(out, number + 1)
            found = validate(trainer, held_out)
            print(f"[{number + 1}] {found}", flush=True)
            if found.loss < lowest:
                lowest = found.loss
                trainer.save(out.with_name(f"{out.stem}-best.pt"), number + 1)
