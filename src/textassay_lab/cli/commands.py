"""The laboratory's commands, as they are registered: names under the headings of help, and where they are."""

from collections.abc import Mapping

from textassay.cli.groups import Group, Places

COMMANDS: Mapping[str, Mapping[str, str]] = {
    "Which metric to trust": {
        "judge": "textassay_lab.cli.judge:Judge",
        "stress": "textassay_lab.cli.stress:Stress",
        "bench": "textassay_lab.cli.bench:Bench",
    },
    "Models": {
        "train": "textassay_lab.cli.commands:TRAIN",
        "sample": "textassay_lab.cli.sample:Sample",
        "translate": "textassay_lab.cli.translate:Translate",
        "contexts": "textassay_lab.cli.contexts:Contexts",
        "likelihood": "textassay_lab.cli.likelihood:Likelihood",
        "discrepancy": "textassay_lab.cli.discrepancy:Discrepancy",
        "exposure": "textassay_lab.cli.exposure:Exposure",
        "approximate": "textassay_lab.cli.approximate:Approximate",
    },
    "Studies": {"study": "textassay_lab.cli.commands:STUDY", "human": "textassay_lab.cli.commands:HUMAN"},
}

HUMAN = Places(
    "human",
    "Let people judge texts: build a study, run it, bring results in, analyse them.",
    {
        "build": "textassay_lab.cli.human_study:Build",
        "next-word": "textassay_lab.cli.human_next_word:NextWord",
        "exposure": "textassay_lab.cli.human_next_word:Exposure",
        "export": "textassay_lab.cli.human_study:Export",
        "import": "textassay_lab.cli.human_study:Import",
        "power": "textassay_lab.cli.human_power:Power",
        "judge": "textassay_lab.cli.human_study:JudgeInTerminal",
        "serve": "textassay_lab.cli.human_serve:Serve",
        "invite": "textassay_lab.cli.human_invite:Invite",
        "analyse": "textassay_lab.cli.human_analyse:Analyse",
    },
)

MODELS: Mapping[str, str] = {
    "lstm": "LSTM language model.",
    "scheduled-sampling": "LSTM that is also shown its own words in training.",
    "gpt2": "GPT-2 language model, trained from scratch.",
    "transformer-xl": "Transformer-XL language model, with a memory of the sentences before.",
    "ngram": "n-gram language model with Kneser-Ney smoothing.",
    "position-unigram": "Words drawn independently, by their frequency at each position.",
    "c2s": "LSTM that starts from a context (C2S).",
    "gc2s": "LSTM that reads its context at every step, through a gate (gC2S).",
    "att2seq": "LSTM that attends to its context (Att2Seq).",
    "translation": "Transformer that translates, trained on pairs of sentences.",
    "seqgan": "SeqGAN: policy gradient against a CNN discriminator, after maximum likelihood.",
    "rankgan": "RankGAN: SeqGAN with a ranker instead of a discriminator.",
    "gumbelgan": "GAN whose gradients reach an LSTM through Gumbel-softmax, after maximum likelihood.",
    "leakgan": "LeakGAN: manager and worker that see the discriminator's features.",
    "cot": "CoT: cooperative training of a generator and a mediator.",
    "scratchgan": "ScratchGAN: trained against a discriminator from the first step.",
    "wgan": "Recurrent Wasserstein GAN, without a likelihood.",
}

STUDIES: Mapping[str, str] = {
    "dd-real": "Generators trained on 20 to 100 % of a text: does a metric put them in that order?",
    "dd-synthetic": "The same on text that a GPT-2 wrote: does a metric follow the exact discrepancy?",
    "judges": "Texts that people judged: which evaluators agree with them?",
    "exposure-bias": "Language and translation models: are they worse after their own words than after real ones?",
    "gan-as-lm": "Character GANs and language models: how many bits per character, with a softmax and without?",
    "generators": "Every generator of the paper trained on one text: how do evaluators rank them, and are they right?",
}

TRAIN = Group("train", "Train a generator on your own text.", "model", MODELS, "textassay_lab.cli.train_models")
STUDY = Group(
    "study",
    "Repeat the experiments of a paper on your text, and set its numbers beside yours.",
    "study",
    {**STUDIES, "list": "List the studies and scales."},
    "textassay_lab.cli.study",
)
