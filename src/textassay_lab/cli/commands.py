"""The laboratory's commands, as they are registered: names under the headings of help, and where they are."""

from collections.abc import Iterator, Mapping

from textassay.cli.adapter import Group, Places

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
    "Let people judge texts: build a study, run it, import results, analyse them.",
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


class _Models(Mapping[str, str]):
    """The models that can be trained, each with the first line of the class that declares it; loaded when asked for."""

    def __getitem__(self, name: str) -> str:
        from textassay_lab.generator.catalog import MODELS as NAMES
        from textassay_lab.generator.catalog import class_of

        if name not in NAMES:
            raise KeyError(name)
        return (class_of(name).__doc__ or "").partition("\n")[0]

    def __iter__(self) -> Iterator[str]:
        from textassay_lab.generator.catalog import MODELS as NAMES

        return iter(NAMES)

    def __len__(self) -> int:
        return sum(1 for _ in self)


MODELS: Mapping[str, str] = _Models()

STUDIES: Mapping[str, str] = {
    "dd-real": "Generators trained on 20 to 100 % of a text: does a metric put them in that order?",
    "dd-synthetic": "The same on text that a GPT-2 wrote: does a metric follow the exact discrepancy?",
    "judges": "Texts that people judged: which evaluators agree with them?",
    "exposure-bias": "Language and translation models: are they worse after their own words than after real ones?",
    "gan-as-lm": "Character GANs and language models: how many bits per character, with a softmax and without?",
}

TRAIN = Group("train", "Train a generator on your own text.", "model", MODELS, "textassay_lab.cli.train")
STUDY = Group(
    "study",
    "Repeat the experiments of a paper on your text, and compare its numbers with yours.",
    "study",
    {**STUDIES, "list": "List the studies and scales."},
    "textassay_lab.cli.study",
)
