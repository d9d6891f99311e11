"""SeqGAN and RankGAN: how long a step takes, and whether the oracle finds better what is written after the rounds.

    python benchmarks/seqgan.py --step             # a generator step in the setting of the paper
    python benchmarks/seqgan.py --oracle           # nats per token, before and after the rounds, seeds 0 to 4
    python benchmarks/seqgan.py --oracle --ranked  # the same of RankGAN

`--step`: processor seconds and seconds of a step up the policy gradient with an LSTM of 32, 5,000 words, batches of
64, 20 tokens, 16 roll-outs after each action. `--oracle`: a scaled setting (100 words, sentences of 8, 2,000 of them);
the same oracle, and for each seed another training text, model and discriminator. Held-out text that the oracle drew
stands beside it. The recipe was chosen on seeds from 100.
"""

import argparse
import time
from dataclasses import asdict, replace

import numpy as np

from textassay.execution.threads import workers
from textassay_lab.adversarial.generator_training import ORACLE, VALID
from textassay_lab.adversarial.rankgan import RankGanRecipe
from textassay_lab.adversarial.rankgan_training import RankGanTraining
from textassay_lab.adversarial.rounds import Phase, train_in_rounds
from textassay_lab.adversarial.seqgan import SeqGanRecipe
from textassay_lab.adversarial.seqgan_training import SeqGanTraining
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.random_lstm import RandomLstm
from textassay_lab.training.backend import threads
from textassay_lab.training.recipe import Recipe

SCALED = SeqGanRecipe(
    rounds=40,
    pretraining_rounds=20,
    refreshes=1,
    discriminator_epochs=2,
    negatives=2000,
    adversarial_batch_size=128,
    roll_outs=8,
    roll_out_averaging=0.0,
    baseline="leave-one-out",
    adversarial_learning_rate=5e-3,
    discriminator_learning_rate=3e-3,
    discriminator_width=32,
    discriminator_filters={1: 32, 2: 32, 3: 32, 4: 32, 5: 32},
    discriminator_dropout=0.1,
    validation_samples=5000,
)


def step(n: int) -> None:
    """Print how long each of `n` steps takes, once warm."""
    oracle = RandomLstm(5000, length=20)
    train = oracle.sample(1000, seed=1)
    model = LstmModel(32, dropout=0.0, length=20, max_length=20, recipe=Recipe(max_epochs=1), batch_size=64).fit(train)
    training = SeqGanTraining(model, train, recipe=SeqGanRecipe(pretraining_rounds=0, refreshes=0))
    with threads():
        for number in range(n + 1):
            began, spent = time.perf_counter(), time.process_time()
            training.round("adversarial", number + 1)
            told = f"{time.process_time() - spent:.2f} processor seconds, {time.perf_counter() - began:.2f} seconds"
            if number:
                print(f"step {number}: {told}", flush=True)


def against_oracle(seeds: list[int], args: argparse.Namespace) -> None:
    """Print the oracle's nats per token of each seed, before and after the rounds."""
    oracle = RandomLstm(args.words, length=args.length, seed=0)
    own = -oracle.log_prob(oracle.sample(5000, seed=9)).mean() / args.length
    print(f"the oracle's own text: {own:.4f} nats per token", flush=True)
    rates = {"adversarial_learning_rate": args.rate, "discriminator_learning_rate": args.judge_rate}
    recipe = replace(SCALED, rounds=args.rounds, **rates)
    changes, valid_changes = [], []
    for seed in seeds:
        spent = time.process_time()
        train, valid = (oracle.sample(args.sentences, seed=10 * seed + place) for place in (1, 2))
        settings = Recipe(max_epochs=args.epochs, learning_rate=1e-2, max_norm=5.0)
        model = LstmModel(32, dropout=0.0, length=args.length, max_length=args.length, recipe=settings, batch_size=64,
                          seed=seed).fit(train, valid)  # fmt: skip
        if args.ranked:
            ranked = RankGanRecipe(**{**asdict(recipe), "gamma": args.gamma})
            training: SeqGanTraining = RankGanTraining(model, train, valid, recipe=ranked, oracle=oracle, seed=seed)
        else:
            training = SeqGanTraining(model, train, valid, recipe=recipe, oracle=oracle, seed=seed)
        phases = (
            Phase("discriminator", recipe.pretraining_rounds, validated=False),
            Phase("adversarial", recipe.rounds),
        )
        history = train_in_rounds(training, phases, validate_every=10)
        curve = [np.nan if value is None else value for value in (each.values[ORACLE] for each in history.validations)]
        changes.append(curve[-1] - curve[0])
        real = [each.values[VALID] or np.nan for each in history.validations]
        valid_changes.append(real[-1] - real[0])
        told = " ".join(f"{value:.3f}" for value in curve)
        told += f"; real text under the generator {real[0]:.3f}, then {real[-1]:.3f}"
        print(f"seed {seed}: {told} ({time.process_time() - spent:.0f} processor seconds)", flush=True)
    for what, found in {"drawn text under the oracle": changes, "real text under the generator": valid_changes}.items():
        error = np.std(found, ddof=1) / len(found) ** 0.5 if len(found) > 1 else np.nan
        better = sum(change < 0 for change in found)
        print(f"{what}: change {np.mean(found):+.4f} (standard error {error:.4f}); better in {better} of {len(found)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", action="store_true")
    parser.add_argument("--oracle", action="store_true")
    parser.add_argument("--ranked", action="store_true")
    parser.add_argument("--gamma", type=float, default=5.0)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--words", type=int, default=100)
    parser.add_argument("--length", type=int, default=8)
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=SCALED.rounds)
    parser.add_argument("--rate", type=float, default=SCALED.adversarial_learning_rate)
    parser.add_argument("--judge-rate", type=float, default=SCALED.discriminator_learning_rate)
    asked = parser.parse_args()
    with workers(2):
        if asked.step:
            step(asked.steps)
        if asked.oracle:
            against_oracle(asked.seeds, asked)
