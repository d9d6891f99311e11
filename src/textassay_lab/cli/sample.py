"""``textassay sample``."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from textassay.cli.adapter import Between, option
from textassay.cli.declarations import Clustered, Computing, Files, Precision
from textassay.cli.messages import print_line
from textassay.cli.options import check_writable
from textassay.errors import InputError, OptionError, OutputError
from textassay.fields import Above
from textassay.settings import Seed

if TYPE_CHECKING:
    from textassay.corpus.corpus import Corpus
    from textassay_lab.generators import TextGenerator

_KINDS = (".txt", ".jsonl")
_TEXT = "text"  # the key of a sentence in JSON lines
_ENDPOINT = "openai:"
_LISTED = 5  # unknown words that are named


@dataclass(frozen=True, kw_only=True)
class Sample(Files, Computing, Clustered):
    """Draw sentences from a model, one per line."""

    model: Annotated[
        str,
        Argument(
            metavar="MODEL",
            help="A folder of 'train', pretrained:NAME_OR_PATH, 'command:SHELL COMMAND' or openai:MODEL@URL.",
        ),
    ]
    sentences: Annotated[
        int | None,
        option("Number of sentences; as many as --prefixes or prompts by default.", "N", names=("-n", "--sentences")),
        Between(1),
    ] = None
    temperature: Annotated[float, option("Temperature, above 0.", "T"), Above(0)] = 1.0
    top_k: Annotated[int | None, option("Draw from the K most likely words.", "K"), Between(1)] = None
    top_p: Annotated[
        float | None, option("Draw from the most likely words that together have probability P.", "P"), Above(0, 1)
    ] = None
    prefix: Annotated[str | None, option("Beginning of all sentences.", "TEXT")] = None
    prefixes: Annotated[str | None, option("Beginnings of the sentences, one per line.", "FILE")] = None
    contexts: Annotated[str | None, option("Contexts for c2s, gc2s and att2seq: a .tsv or .csv table.", "FILE")] = None
    seed: Seed = 0
    out: Annotated[Path | None, option("A .txt or .jsonl file; standard output by default.", "FILE")] = None
    precision: Precision = "float32"

    def run(self) -> int:
        """Draw sentences, write them, and return 0."""
        self._check()
        if self.model.startswith(_ENDPOINT):
            return self._answers()
        prefixes = self._prefixes()
        n = len(prefixes) or None if self.sentences is None else self.sentences
        if n is not None and len(prefixes) not in (0, 1, n):
            raise OptionError(f"{self.prefixes} has {len(prefixes):,} lines: give 1, or as many as -n, {n}")
        with self.on_cluster(), self.computing():
            texts = self._draw(n, prefixes)
        self._write(texts)
        return 0

    def _check(self) -> None:
        """Raise for whatever can be seen to be wrong before the model is read."""
        is_endpoint = self.model.startswith(_ENDPOINT)
        if self.sentences is None and self.prefixes is None and self.contexts is None and not is_endpoint:
            raise OptionError("the number of sentences is missing: add -n N")
        if self.prefix is not None and self.prefixes is not None:
            raise OptionError("--prefix and --prefixes cannot be combined: leave one of them out")
        if self.out is not None:
            if self.out.suffix not in _KINDS:
                raise OptionError(f"--out must end in {' or '.join(_KINDS)}, got {self.out}")
            if self.out.is_dir():
                raise OutputError(f"cannot write {self.out}: it is a folder")
            check_writable(self.out.parent)

    def _answers(self) -> int:
        """Draw from an endpoint; on standard output what is there is printed even where not all answers come."""
        from textassay.cli.endpoints import answer_rows, draw_answers, open_endpoint
        from textassay.endpoints import EndpointError

        refused = (self.prefix, self.prefixes, self.contexts, self.top_k)
        if any(value is not None for value in refused):
            raise OptionError(
                "an endpoint does not support --prefix, --prefixes, --contexts or --top-k: leave them out"
            )
        asked = {} if self.temperature == 1 else {"temperature": self.temperature}
        if self.top_p is not None:
            asked["top_p"] = self.top_p
        model = open_endpoint(self.model, self.out, asked)
        if self.sentences is None and not model.has_prompts:
            raise OptionError("the number of sentences is missing: add -n N")
        n = len(model.prompts) if self.sentences is None else self.sentences
        try:
            draw_answers(model, n, seed=self.seed, quiet=self.quiet)
        except (KeyboardInterrupt, EndpointError) as error:
            if self.out is not None:
                raise
            self._write([str(row["text"]) for row in answer_rows(model, n, self.seed)])
            if isinstance(error, KeyboardInterrupt):
                raise
            raise type(error)(f"{error}; with --out FILE answers are stored, and the same command resumes") from None
        rows = answer_rows(model, n, self.seed)
        self._write([str(row["text"]) for row in rows], rows)
        return 0

    def _prefixes(self) -> Sequence[str]:
        from textassay.corpus.texts import read_texts

        if self.prefix is not None:
            return [self.prefix]
        if self.prefixes is None:
            return []
        return read_texts(self.prefixes, column=self.column).texts

    def _draw(self, n: int | None, prefixes: Sequence[str]) -> Sequence[str]:
        from textassay_lab.cli.model_contexts import contexts_to_answer
        from textassay_lab.cli.models import open_generator
        from textassay_lab.generators import External

        settings: dict[str, Any] = {"top_k": self.top_k, "top_p": self.top_p}
        settings = {name: value for name, value in settings.items() if value is not None}
        if self.temperature != 1:
            settings["temperature"] = self.temperature
        if self.model.startswith(f"{External.kind}:"):
            if prefixes or settings or self.contexts is not None or n is None:
                refused = "--prefix, --contexts, --temperature, --top-k or --top-p"
                raise OptionError(f"a command controls its own sampling: leave out {refused}")
            return External(self.model.removeprefix(f"{External.kind}:")).sample(n, seed=self.seed)
        opened = open_generator(self.model, self.precision)
        prefix = _encoded(opened, prefixes) if prefixes else None
        if self.contexts is not None:
            settings["context"] = contexts_to_answer(opened, self.contexts, n)
            n = len(settings["context"]) if n is None else n
        assert n is not None  # where nothing says it, `_check` has refused
        texts: Sequence[str] = opened.model.sample(n, seed=self.seed, prefix=prefix, **settings).texts
        return texts

    def _write(self, texts: Sequence[str], rows: Sequence[Mapping[str, Any]] | None = None) -> None:
        """Write one line a sentence to `out`, whole or not at all, or to standard output.

        Nothing drawn is thrown away: sentences with line breaks become JSON lines beside the text file asked for.
        `rows`: what JSON lines say of each, where that is more than the text.
        """
        from textassay.storage import write_file

        out = self.out
        as_json = out is not None and out.suffix == ".jsonl"
        broken = 0 if as_json else sum(len(text.splitlines()) > 1 for text in texts)
        problem = f"{broken:,} of {len(texts):,} sentences contain line breaks, which plain text lines cannot represent"
        if broken and out is None:
            raise InputError(f"{problem}: use --out FILE.jsonl to keep the line breaks")
        rows = [{_TEXT: text} for text in texts] if rows is None else rows
        lines = (json.dumps(row, ensure_ascii=False) for row in rows) if as_json or broken else texts
        if out is None:
            _print(lines)
            return
        if broken:
            out = _free(out.with_suffix(".jsonl"))
        write_file(out, "".join(f"{line}\n" for line in lines))
        if broken:
            print_line(f"warning: {problem}: all {len(texts)} are in {out} instead of {self.out}")
        elif not self.quiet:
            print_line(f"wrote {len(texts):,} sentences to {out}")


def _encoded(opened: "TextGenerator", prefixes: Sequence[str]) -> "Corpus":
    """Return the prefixes in the model's tokens; say which of their words it does not know."""
    from textassay.corpus.encoding import UNK

    prefix = opened.form.corpus(prefixes)
    if (prefix.tokens == UNK).any():
        words = dict.fromkeys(word for text in prefixes for word in opened.form.tokenizer(text))
        unknown = [word for word in words if opened.form.vocabulary.encode([word])[0] == UNK]
        more = f" and {len(unknown) - _LISTED} more" if len(unknown) > _LISTED else ""
        print_line(f"warning: the model reads these words of the prefix as <unk>: {', '.join(unknown[:_LISTED])}{more}")
    return prefix


def _free(path: Path) -> Path:
    """Return `path`, or that with the first number behind its name under which there is no file: nobody named it."""
    names = (path if number == 1 else path.with_stem(f"{path.stem}-{number}") for number in count(1))
    return next(name for name in names if not name.exists())


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
