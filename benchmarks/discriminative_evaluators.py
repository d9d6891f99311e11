"""Discriminative evaluators on judged texts: how they rank generators, beside people, and in how many seconds.

Usage: python benchmarks/discriminative_evaluators.py JUDGEMENTS [--evaluators NAME,...] [--seeds 0,1,2]
       [--search TRIALS] [--balance equal|weights] [--no-individual]

JUDGEMENTS is any file that `textassay_lab.human.results.read_judgements` reads, with texts and at least two generators.
Every text is judged by evaluators that saw neither it nor an equal text. Prints, for each evaluator, means over seeds
(and the range of the first tau): accuracy of the meta-evaluator on real, generated and all texts; Kendall's tau-b over
generators between 1 - accuracy and 1 - the share of judgements "fake" (meta, then individual), and between meta and
individual; processor seconds of a whole meta-evaluation, of all folds and trials; then accuracies in the layout of
table 4, of the first seed. Accuracies of individual evaluators are printed as they come.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from textassay.corpus.corpus import corpora_from_texts
from textassay.discriminator.base import Discriminator
from textassay.discriminator.catalog import make_discriminator
from textassay_lab.human.results import read_judgements
from textassay_lab.judges.meta_evaluator import MetaEvaluation, accuracy_table, meta_evaluate
from textassay_lab.judges.random_search import RandomSearchDiscriminator

EVALUATORS = "svm,random-forest,naive-bayes,xgboost"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("judgements", type=Path)
    parser.add_argument("--evaluators", default=EVALUATORS)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--search", type=int, default=0)
    parser.add_argument("--balance", choices=("equal", "weights"), default="equal")
    parser.add_argument("--no-individual", action="store_true")
    options = parser.parse_args()
    judgements = read_judgements(options.judgements)
    writers = [item.generator for item in judgements.items]
    texts = {
        name or "": [item.text for item in judgements.items if item.generator == name]
        for name in (None, *judgements.generators)
    }
    corpora = corpora_from_texts(texts)
    real = corpora.pop("")
    votes, by = judgements.votes(), np.array([writer or "" for writer in writers])
    people = {name: votes[by == name, 0].sum() / votes[by == name].sum() for name in corpora}

    def tau(first: list[float], second: list[float]) -> float:
        return float(kendalltau(first, second).statistic)

    def values(found: MetaEvaluation) -> list[float]:
        return [found.by_generator[name].value for name in people]

    rows, first_seed = {}, []
    for name in options.evaluators.split(","):
        measured = []
        for seed in map(int, options.seeds.split(",")):
            judge: Discriminator = (
                RandomSearchDiscriminator(name, n_trials=options.search, seed=seed)
                if options.search
                else make_discriminator(name)
            )
            began = time.process_time()
            meta = meta_evaluate(judge, real, corpora, balance=options.balance, seed=seed)
            took = time.process_time() - began
            shares, known = values(meta), list(people.values())
            taus = [tau(shares, known), np.nan, np.nan]
            if not options.no_individual:
                each = meta_evaluate(judge, real, corpora, individual=True, balance=options.balance, seed=seed)
                print(f"{name} individual: real {each.real.value:.3f}, generated {each.generated.value:.3f}")
                alone = values(each)
                taus[1:] = [tau(alone, known), tau(shares, alone)]
            measured.append([meta.real.value, meta.generated.value, meta.all.value, *taus, took])
            if len(measured) == 1:
                first_seed.append(meta)
            print(name, seed, np.round(measured[-1], 3), flush=True)
        array = np.array(measured)
        rows[name] = [*array.mean(axis=0), array[:, 3].min(), array[:, 3].max()]
    columns = [
        "real",
        "generated",
        "all",
        "tau meta",
        "tau individual",
        "meta-individual",
        "seconds",
        "lowest",
        "highest",
    ]
    print(pd.DataFrame.from_dict(rows, orient="index", columns=columns).round(3).to_string())
    table = accuracy_table(first_seed)
    table["people"] = pd.Series(people)
    print((100 * table).round(2).to_string())


if __name__ == "__main__":
    main()
