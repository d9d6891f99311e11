"""How to read a comparison, in plain words: the same text on the page and, in short, wherever else it is needed."""

from textassay.report.digest import Digest
from textassay.report.number import level


def reading_guide(digest: Digest) -> tuple[tuple[str, str], ...]:
    """Return (term, explanation) of everything that this comparison shows, and of nothing else."""
    share = level(digest.comparison.level)
    guide = []
    details = {
        key
        for result in digest.comparison.results
        if result.estimate is not None
        for key, value in result.estimate.details.items()
        if value is not None
    }
    if "score_histogram" in details:
        guide.append(
            (
                "Distributional Discrepancy (dd)",
                "A classifier learns to tell real from generated texts; dd is twice its balanced accuracy on "
                "texts it never saw, minus one. 0: it can only guess. 1: it is never wrong. It is what this "
                "classifier detects, at most the true distance on average, so a small value is no proof of likeness.",
            )
        )
    if digest.floors:
        guide.append(
            (
                "The floor, (real)",
                "One half of the real text measured as if it were generated, against the other half. It is the score "
                "of text that cannot be told from real text. Most metrics move with the number of texts, so their "
                "values are shown at the floor's size. A metric that tests itself against guessing, such as dd, is "
                "shown of all texts: of two samples of one text it is 0 on average at any size.",
            )
        )
    if digest.train_note:
        guide.append(
            (
                "The training text",
                f"{digest.train_note} A generator that learnt it perfectly, and copied nothing, would score the same. "
                "Where it is far from the real text, the two are of different sources, and no generator can come near.",
            )
        )
    guide.append(
        (
            "Intervals",
            f"A {share} interval says how far the value may move with another sample of this size from the same "
            "generator and the same source of real text. It does not cover another training run of the generator, "
            "another domain, or a metric that asks the wrong question.",
        )
    )
    if "certified_bound" in details:
        guide.append(
            (
                "Certified bound",
                f"With {share} confidence, and without assumptions on the text, the total variation distance between "
                "the two distributions is at least this. It rests on a part of the text named beforehand, so it is "
                "lower than the value.",
            )
        )
    if "p_value" in details:
        guide.append(
            (
                "p",
                "How often shuffled labels separate the two sides as well as the true ones. Small: the generator is "
                "told from real text. Large: at this sample size that cannot be told, and does not mean that they are "
                "alike.",
            )
        )
    if digest.comparison.ranks:
        guide.append(
            (
                "Ranks as intervals",
                "From 1 + the number of generators significantly better to n minus the number significantly worse. "
                "Generators whose intervals overlap are not separated: do not read an order into them. With pairs, p "
                "is adjusted for the number of pairs (Holm).",
            )
        )
    guide.append(
        (
            "Closer, not higher",
            "Self-repetition, variety and unseen words have a right amount: that of real text. Such metrics are "
            "ranked by their distance to the floor, in either direction.",
        )
    )
    guide.append(
        (
            "What it does not say",
            "Nothing here judges truth, usefulness or taste. Two generators that score alike may differ in ways the "
            "metrics cannot see. Overlap with real text is highest for a copier: read it beside dd and variety. What "
            "was compared is what was detected.",
        )
    )
    return tuple(guide)
