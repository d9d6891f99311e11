"""What must be known beside a single value, as beside a comparison: dependence, overlap and size of its texts."""

from textassay.inspection import checks
from textassay.inspection.dependence import Examined, Independence
from textassay.inspection.finding import REAL, Findings
from textassay.inspection.surface import Pair, plain_surface
from textassay.inspection.within import Within, examine_real

GENERATED = "generated"


def findings_beside(texts: Examined, *, within: Within | None = None) -> Findings:
    """Return what of `texts` moves or widens any value; warnings first.

    `within`: what `examine_real` says of the real text, to save doing it again; nothing about the independence of texts
    that are said to be independent.
    """
    generated, real = texts.declared
    pair = Pair(plain_surface(generated), plain_surface(real), GENERATED)
    same = checks.same_text(pair)
    if same is not None:
        return Findings([same])
    found = [
        checks.few_sentences(real, REAL),
        checks.few_sentences(generated, GENERATED),
        checks.unequal_samples(pair),
        checks.shared(pair),
    ]
    if not texts.dependence.is_independent:
        within = examine_real(real) if within is None else within
        found += Independence(real, within, {GENERATED: texts}).findings([GENERATED])
    return Findings(sorted(filter(None, found), key=lambda one: one.severity != "warning"))


def warning_of(findings: Findings) -> str:
    """Return the messages of the warnings among `findings`, in a line; empty where there are none."""
    return " ".join(f"{one.generator}: {one.message}" for one in findings if one.severity == "warning")
