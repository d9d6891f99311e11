"""Makes rouge_golden.json, the scores that rouge-score gives to made-up texts.

In an environment of its own, because rouge-score comes as source alone and the tests install wheels only:

    python3 -m venv /tmp/peer
    /tmp/peer/bin/pip install setuptools wheel rouge_score==0.1.2
    /tmp/peer/bin/python tests/metric/make_rouge_golden.py

Each group has hypotheses and the references of them all. `rouge1` and `rouge2` are `score_multi` over the references;
`rougeL` is the plain F against the only reference, and is left out where there are several, which count otherwise here.
"""

import importlib.metadata
import json
from pathlib import Path
from random import Random
from typing import Any

from rouge_score.rouge_scorer import RougeScorer

COMMAND = "python tests/metric/make_rouge_golden.py"
WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "house",
    "tree",
    "runs",
    "sleeps",
    "near",
    "under",
    "big",
    "red",
    "7",
    "2020",
    "and",
    "not",
]
MARKED = [*WORDS, "The", "THE", "Cat", ".", ",", "it's", "don't", "«x»", "naïve", "12.5", "-"]


class Whitespace:
    """Splits as our corpora do: capitals and marks count."""

    def tokenize(self, text: str) -> list[str]:
        """Return what stands between white space."""
        return text.split()


def text(random: Random, words: list[str], longest: int) -> str:
    """Return words in any order; short vocabularies repeat them."""
    return " ".join(random.choice(words) for _ in range(random.randint(0, longest)))


def changed(random: Random, reference: str, words: list[str]) -> str:
    """Return the reference with a word changed, left out, said again or moved."""
    tokens = reference.split() or ["a"]
    place = random.randrange(len(tokens))
    match random.randrange(4):
        case 0:
            tokens[place] = random.choice(words)
        case 1:
            del tokens[place]
        case 2:
            tokens.insert(place, tokens[place])
        case _:
            tokens.append(tokens.pop(place))
    return " ".join(tokens)


def groups() -> list[dict[str, Any]]:
    """Return the groups with their scores."""
    random = Random(0)
    made = []
    for number in range(37):
        words, longest = ((list("abcd"), 8), (WORDS, 14), (MARKED, 25))[number % 3] if number < 36 else (WORDS, 200)
        n_references = (1, 1, 2, 5)[number // 3 % 4]
        references = [text(random, words, longest) or "a" for _ in range(n_references)]
        hypotheses = ["", references[0], "unseen words only", *(text(random, words, longest) for _ in range(3))]
        hypotheses += [changed(random, references[-1], words) for _ in range(2)]
        tokenizer = Whitespace() if words is MARKED else None  # its own drops capitals and marks
        scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], tokenizer=tokenizer)
        scores = [scorer.score_multi(references, hypothesis) for hypothesis in hypotheses]
        names = ["rouge1", "rouge2", "rougeL"] if n_references == 1 else ["rouge1", "rouge2"]
        values = {name: [float(score[name].fmeasure) for score in scores] for name in names}
        made.append({"hypotheses": hypotheses, "references": references, **values})
    return made


def main() -> None:
    """Write the file beside this one."""
    version = importlib.metadata.version("rouge_score")
    golden = {"made_by": f"rouge-score {version}", "command": COMMAND}
    lines = (
        json.dumps(golden)[:-1]
        + ', "groups": [\n'
        + ",\n".join(
            "{"
            + ",\n ".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in group.items())
            + "}"
            for group in groups()
        )
        + "\n]}\n"
    )
    Path(__file__).with_name("rouge_golden.json").write_text(lines, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
