"""Generators and language models over texts: fit to texts, sample texts, say how likely a text is, save, load.

Each class stands for one kind of model; what may be set is that of its presets (``tiny``, ``small``, ``paper`` and
others), and every setting of the model and of its training by name, such as ``Lstm(layers=1, max_epochs=3)``. Networks
need the extra ``neural``.
"""

from textassay_lab.adversarial.cot import CoT
from textassay_lab.adversarial.leakgan import LeakGan
from textassay_lab.adversarial.rankgan import RankGan
from textassay_lab.adversarial.scratchgan import ScratchGan
from textassay_lab.adversarial.seqgan import SeqGan
from textassay_lab.adversarial.system import Adversarial as Adversarial
from textassay_lab.adversarial.wgan import Wgan
from textassay_lab.generator.conditional import Att2Seq, C2s, GatedC2s
from textassay_lab.generator.conditional import Conditional as Conditional
from textassay_lab.generator.gpt2 import Gpt2
from textassay_lab.generator.lstm import Lstm
from textassay_lab.generator.ngram import Ngram
from textassay_lab.generator.position_unigram import PositionUnigram
from textassay_lab.generator.ready import Endpoint, External, Pretrained, RandomLstm, from_pretrained
from textassay_lab.generator.ready import EndpointAnswers as EndpointAnswers
from textassay_lab.generator.scheduled_sampling import ScheduledSampling
from textassay_lab.generator.text_generator import TextGenerator
from textassay_lab.generator.transformer_xl import TransformerXl
from textassay_lab.generator.translation import Translation

__all__ = [
    "Att2Seq",
    "C2s",
    "CoT",
    "Endpoint",
    "External",
    "GatedC2s",
    "Gpt2",
    "LeakGan",
    "Lstm",
    "Ngram",
    "PositionUnigram",
    "Pretrained",
    "RandomLstm",
    "RankGan",
    "ScheduledSampling",
    "ScratchGan",
    "SeqGan",
    "TextGenerator",
    "TransformerXl",
    "Translation",
    "Wgan",
    "from_pretrained",
]
