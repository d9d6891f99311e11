"""Names of the models that ``textassay train`` sends elsewhere; light to import, as `textassay.cli.main` is."""

__all__ = ["ADVERSARIAL", "CONTEXTUAL"]

ADVERSARIAL = ("cot", "leakgan", "rankgan", "scratchgan", "seqgan", "wgan")  # trained against a discriminator
CONTEXTUAL = ("att2seq", "c2s", "gc2s")  # those that answer to contexts
