"""Generators that need not be fitted: pretrained models, random LSTMs, commands, endpoints; and those of folders."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from textassay.errors import InputError, OptionError
from textassay_lab.generator.text_generator import TextGenerator

if TYPE_CHECKING:
    from textassay.corpus.corpus import Texts
    from textassay.corpus.text_form import TextForm


class Ready(TextGenerator):
    """A generator that need not be fitted."""

    def check(self) -> None:
        """Nothing to check: what there is was made."""

    def unfitted_model(self, longest: int) -> Any:
        """Return the model, which need not be fitted."""
        return self.model

    def fit(self, train: "Texts", valid: "Texts" = None, **how: Any) -> Self:
        """Refuse: there is nothing to learn."""
        raise OptionError(f"{self.model.name} is ready: there is nothing to fit")


class Pretrained(Ready):
    """A causal language model of Hugging Face transformers, by its name or its folder."""

    kind = "pretrained"

    def __init__(self, name_or_path: str | os.PathLike[str], *, batch_size: int = 32, max_length: int = 200) -> None:
        from textassay_lab.generator.pretrained import PretrainedModel

        super().__init__()
        model = PretrainedModel(os.fspath(name_or_path), batch_size=batch_size, max_length=max_length)
        self._fitted = model, model.form

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> Self:
        """Return the model of that name or in that folder."""
        return cls(folder)


class RandomLstm(Ready):
    """An LSTM with random weights that learns nothing: a language whose probabilities are known."""

    kind = "random-lstm"
    implementation = "textassay_lab.generator.random_lstm:RandomLstm"

    def __init__(self, *, seed: int = 0) -> None:
        from textassay_lab.generator.random_lstm import RandomLstm as Model

        super().__init__(seed=seed)
        model = Model(seed=seed)
        self._fitted = model, model.form


class External(Ready):
    """A command that prints texts, such as ``my-model --n {n} --seed {seed}``; it has no probabilities.

    Parameters
    ----------
    command
        For the shell. ``{n}`` and ``{seed}`` in it become the number of texts, which it must print one a line, and the
        seed, which should decide them.
    column
        The key of the text in each line, where the lines are JSON.
    timeout
        Seconds that a call may take.
    """

    kind = "command"

    def __init__(self, command: str, *, column: str | None = None, timeout: float | None = None) -> None:
        from textassay.source.external import ExternalCommand

        super().__init__()
        self._command = ExternalCommand(command, column=column, timeout=timeout)

    @property
    def model(self) -> Any:
        """The command."""
        return self._command


@dataclass(frozen=True)
class EndpointAnswers:
    """Answers of an endpoint, each beside its prompt.

    Attributes
    ----------
    prompts, texts
        As many of each, the answers to one prompt one after another.
    finish_reasons
        Why the endpoint stopped: ``stop``, ``length`` (cut off), ``content_filter`` and others; None where it does
        not say.
    note
        What they took: tokens, and the price where prices are set.
    """

    prompts: tuple[str, ...]
    texts: tuple[str, ...]
    finish_reasons: tuple[str | None, ...]
    note: str

    def __len__(self) -> int:
        return len(self.texts)

    def rows(self) -> list[dict[str, str | None]]:
        """Return a dict for each answer: ``prompt``, ``text`` and ``finish_reason``."""
        columns = zip(self.prompts, self.texts, self.finish_reasons, strict=True)
        return [{"prompt": prompt, "text": text, "finish_reason": finish} for prompt, text, finish in columns]


class Endpoint(Ready):
    """A model of an OpenAI-compatible endpoint; it has no probabilities.

    The key is read from the environment when a request is sent. Answers that have come are kept and not asked for
    again, so that equal seeds give equal texts, though endpoints need not heed a seed.

    Parameters
    ----------
    model
        As the endpoint calls it.
    url
        Such as ``https://api.example.com/v1``; without one, ``OPENAI_BASE_URL``, or else OpenAI's own.
    keep
        A folder in which answers are kept; without one they are kept as long as the process lives.
    settings
        What is asked: `prompt` (one for all texts) or `prompts` (a list, or a file), `system`, `mode` (``chat`` or
        ``completions``), `temperature`, `top_p`, `max_tokens`, `send_seed`, `extra`. How: `key_variable`
        (``OPENAI_API_KEY``), `concurrency` (4), `retries` (5), `timeout` (120 seconds), `requests_per_minute`,
        `tokens_per_minute`. `input_price` and `output_price` of a million tokens, for `note`.
    """

    kind = "openai"

    def __init__(
        self, model: str, *, url: str | None = None, keep: str | os.PathLike[str] | None = None, **settings: Any
    ) -> None:
        from textassay.endpoints import PREFIX, checked
        from textassay.source.endpoint import EndpointModel, EndpointSettings

        super().__init__()
        known = checked(EndpointSettings, {"model": model, "url": url, **settings}, PREFIX)
        self._endpoint = EndpointModel(known, folder=None if keep is None else Path(keep))

    @property
    def model(self) -> Any:
        """The model of the endpoint."""
        return self._endpoint

    @property
    def form(self) -> "TextForm":
        """Raises: an endpoint has no tokens of its own that are known here."""
        raise InputError(f"{self.model.name} is at an endpoint, which tells neither tokens nor probabilities")

    def answers(self, prompts: "Texts" = None, n_per_prompt: int = 1, *, seed: int = 0) -> EndpointAnswers:
        """Return `n_per_prompt` answers to each prompt, of those of the settings where none are given.

        Raises
        ------
        InputError
            If the endpoint gives no answer; the message says how many there are. They are kept: call it again.
        """
        if n_per_prompt < 1:
            raise OptionError(f"n_per_prompt must be at least 1, got {n_per_prompt}")
        from textassay.corpus.texts import as_texts

        model = self.model
        if prompts is not None:
            model = model.changed(prompt=None, prompts=tuple(as_texts(prompts, "prompts")))
        n_prompts = len(model.prompts)
        drawn = model.answers(n_prompts * n_per_prompt, seed=seed)
        order = [turn * n_prompts + place for place in range(n_prompts) for turn in range(n_per_prompt)]
        return EndpointAnswers(
            tuple(model.prompt_of(number) for number in order),
            tuple(drawn[number].text for number in order),
            tuple(drawn[number].finish for number in order),
            model.note(drawn),
        )

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> Self:
        """Return the model of a name such as ``openai:gpt-4o-mini@https://api.example.com/v1?prompt=...``."""
        from textassay.endpoints import settings_of
        from textassay.source.endpoint import EndpointModel, EndpointSettings

        generator = cls.__new__(cls)
        Ready.__init__(generator)
        generator._endpoint = EndpointModel(settings_of(EndpointSettings, os.fspath(folder)))
        generator._endpoint.prompts  # noqa: B018  (raises where there are none)
        return generator


def from_pretrained(folder: str | os.PathLike[str]) -> TextGenerator:
    """Return the generator that a folder holds, of whatever kind: what `save_pretrained` or ``textassay train`` wrote.

    Names such as ``pretrained:gpt2``, ``command:...``, ``openai:MODEL@URL?prompt=...`` and ``random-lstm:SEED`` are
    taken, too, as on the command line.
    """
    from textassay_lab.generator.catalog import class_of
    from textassay_lab.generator.saved import load_generator

    name = os.fspath(folder)
    before, colon, after = name.partition(":")
    path = Path(folder)
    if colon and before == Pretrained.kind:
        if not after:
            raise OptionError("give a model after 'pretrained:', such as pretrained:gpt2 or pretrained:FOLDER")
        generator: TextGenerator = Pretrained(after)
    elif colon and before == External.kind:
        generator = External(after)
    elif colon and before == Endpoint.kind:
        generator = Endpoint.from_pretrained(name)
    elif before == RandomLstm.kind:
        if after and not (after.isascii() and after.isdigit()):
            raise OptionError(f"name the seed of random-lstm as a number, such as random-lstm:3, got '{after}'")
        generator = RandomLstm(seed=int(after or 0))
    elif not path.exists():
        raise InputError(f"no folder {path}: name what 'textassay train --out' wrote, or pretrained:NAME")
    elif not path.is_dir():
        raise InputError(f"{path} is a file: name the folder that 'textassay train --out' wrote")
    else:
        saved = load_generator(path)
        generator = class_of(saved.document["kind"]).of(saved.model, saved.form)
        generator.document = saved.document
    generator.source = name
    return generator


Model = TextGenerator | str | os.PathLike[str]


def open_generator(model: Model) -> TextGenerator:
    return model if isinstance(model, TextGenerator) else from_pretrained(model)


def label(generator: TextGenerator) -> str:
    """Return what messages call a generator: its folder, or else its name."""
    return generator.source or str(generator.model.name)


def precision_of(generator: TextGenerator) -> str:
    return str(getattr(generator.model, "precision", "float32"))
