"""The neural discriminators by name, as they are registered."""

from functools import partial

from textassay_lab.judges.cnn import FIXED, PAPER, CnnDiscriminator
from textassay_lab.judges.ngram_network import NgramNetworkDiscriminator
from textassay_lab.judges.recurrent import RecurrentDiscriminator
from textassay_lab.judges.transformer import PRETRAINING, TransformerDiscriminator

DISCRIMINATORS = {
    "cnn": CnnDiscriminator,
    "cnn-lstm": partial(RecurrentDiscriminator, convolution=True),
    "cnn-paper": partial(CnnDiscriminator, PAPER),
    "cnn-paper-120": partial(CnnDiscriminator, FIXED),
    "lstm": RecurrentDiscriminator,
    "ngram-network": NgramNetworkDiscriminator,
    "transformer": TransformerDiscriminator,
    "transformer-pretrained": partial(TransformerDiscriminator, pretraining=PRETRAINING),
}
