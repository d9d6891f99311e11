"""A model of an OpenAI-compatible endpoint as a generator: it answers one prompt, or a list of prompts in turns.

Answer i is that to prompt i modulo the number of prompts, asked for with a seed of its own. An endpoint need not heed
seeds, so equal seeds give equal texts only because answers are kept: each is written to a file when it comes, and what
is there is never asked for again.
"""

import hashlib
import json
import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NoReturn

from textassay.corpus.corpus import Corpus
from textassay.corpus.documents import parse_json
from textassay.corpus.texts import read_texts
from textassay.endpoints import (
    PREFIX,
    Client,
    Connection,
    EndpointError,
    FilteredError,
    about_tokens,
    ask_each,
    defaults_left_out,
)
from textassay.errors import InputError, OptionError, OutputError, check_range
from textassay.ngram.language_model import check_sample, refuse
from textassay.seeding import stream
from textassay.storage import one_run_at_a_time

_ENDING = ".answers.jsonl"
_AROUND = 8  # tokens that a template of a chat adds to a message, about


@dataclass(frozen=True, kw_only=True)
class EndpointSettings(Connection):
    """What a model of an endpoint is asked; where a setting is None, the endpoint decides.

    `prompt` is one for all answers, `prompts` a list, or a file with a column `prompt_column`; `input_price` and
    `output_price` are for a million tokens, in the user's money; `extra` goes into every request as it is.
    """

    mode: Literal["chat", "completions"] = "chat"
    prompt: str | None = None
    prompts: str | Sequence[str] | None = None
    prompt_column: str = "prompt"
    system: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    send_seed: bool = True
    input_price: float | None = None
    output_price: float | None = None
    extra: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("temperature", self.temperature, 0)
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise OptionError(f"top_p must be above 0 and at most 1, got {self.top_p}")
        check_range("max_tokens", self.max_tokens, 1)
        for name in ("input_price", "output_price"):
            check_range(name, getattr(self, name), 0)
        if self.prompt is not None and self.prompts is not None:
            raise OptionError(
                "prompt and prompts cannot be combined: prompt is one for all answers, prompts is a file of many"
            )
        if self.system is not None and self.mode != "chat":
            raise OptionError("a system prompt is for mode=chat: leave it out")


@dataclass(frozen=True)
class Answer:
    """One answer; `finish` is the endpoint's reason to stop, `served` what it calls the model.

    `first_log_probs`: of the likeliest first tokens, in nats, where they were asked for.
    """

    text: str
    finish: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0
    tries: int = 1
    served: str | None = None
    refused: bool = False
    first_log_probs: Mapping[str, float] | None = None


class KeptAnswers:
    """The answers that have come, by number; in a file, too, if there is one, to which each is written at once."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._answers: dict[int, Answer] = {}
        self._lock = threading.Lock()
        self._broken = False  # whether the last line of the file has no end
        self.read()

    def __contains__(self, number: int) -> bool:
        return number in self._answers

    def __getitem__(self, number: int) -> Answer:
        return self._answers[number]

    def n_of(self, n: int) -> int:
        """Return how many of the first `n` answers are there."""
        return sum(number < n for number in list(self._answers))

    def first(self, n: int) -> list[Answer]:
        """Return the answers before `n` that stand without a gap from the first one."""
        return [self._answers[number] for number in range(self.n_without_gap(n))]

    def n_without_gap(self, n: int) -> int:
        """Return how many of the first `n` stand without a gap."""
        return next((number for number in range(n) if number not in self._answers), n)

    def add(self, number: int, answer: Answer) -> None:
        """Keep an answer; it is in the file when this returns."""
        told = {name: value for name, value in asdict(answer).items() if value is not None and value is not False}
        line = (json.dumps({"number": number, **told}, ensure_ascii=True) + "\n").encode()
        with self._lock:
            if number in self._answers:
                return
            self._answers[number] = answer
            if self.path is None:
                return
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("ab", buffering=0) as file:
                    file.write(b"\n" + line if self._broken else line)
                self._broken = False
            except OSError as error:
                self._broken = True
                raise OutputError(f"cannot write to {self.path}: {error.strerror or error}") from error

    def read(self) -> None:
        """Take what other runs have kept; what a killed one had begun to write is no answer."""
        if self.path is None or not self.path.exists():
            return
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot read {self.path}: {error.strerror or error}") from None
        self._broken = not content.endswith(b"\n") and content != b""
        for line in content.split(b"\n"):
            try:
                row = parse_json(line.decode()) if line else {}
                number = row.pop("number")
                answer = Answer(**row)
                if isinstance(number, int) and isinstance(answer.text, str):
                    self._answers.setdefault(number, answer)
            except (ValueError, KeyError, TypeError, AttributeError):
                continue


@dataclass(frozen=True)
class Requests:
    """What asking for answers takes; `completion_tokens` and `price` are the most, None where nothing limits them."""

    requests: int
    prompt_tokens: int
    completion_tokens: int | None
    price: float | None


class EndpointModel:
    """A model of an endpoint; a `Generator`.

    `folder`: where answers are kept, a file for each seed; without one they are kept in memory.
    """

    def __init__(self, settings: EndpointSettings, *, folder: Path | None = None) -> None:
        self.settings = settings
        self.folder = folder
        self._client = Client(settings)
        self._renamed = False  # whether the endpoint calls max_tokens by its other name
        self._kept: dict[tuple[str, int], KeptAnswers] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": {}}  # of another process

    @cached_property
    def prompts(self) -> tuple[str, ...]:
        """What is answered; raises where nothing says it."""
        return _prompts(self.settings)

    @property
    def name(self) -> str:
        """Such as ``openai(gpt-4o-mini@https://api.openai.com/v1, temperature=0.8)``."""
        parts = defaults_left_out(self.settings, _DECIDING)
        if self.settings.prompts is not None:
            parts["prompts"] = f"{len(self.prompts)}:{_hash(self.prompts)[:8]}"
        return f"openai({', '.join([self.settings.place, *(f'{name}={value}' for name, value in parts.items())])})"

    @property
    def key(self) -> str:
        """Return a hash of all that decides what is asked, beside the seed."""
        deciding = {name: getattr(self.settings, name) for name in _DECIDING if name != "prompts"}
        return f"openai {_hash([self.settings.place, self.prompts, deciding])}"

    @property
    def has_prompts(self) -> bool:
        """Whether answers belong to prompts of a list."""
        return self.settings.prompts is not None

    def with_log_probs(self) -> "EndpointModel":
        """Return the model asked for log-probabilities of its first token as well, and for one token by default."""
        settings = self.settings
        asked = {"logprobs": True, "top_logprobs": 20} if settings.mode == "chat" else {"logprobs": 5}
        most = 1 if settings.max_tokens is None else settings.max_tokens
        return self.changed(extra={**(settings.extra or {}), **asked}, max_tokens=most)

    def changed(self, **settings: Any) -> "EndpointModel":
        """Return a model with other settings, of the same endpoint, which keeps its answers at the same place."""
        if not settings:
            return self
        model = EndpointModel(replace(self.settings, **settings), folder=self.folder)
        model._client, model._kept = self._client, self._kept
        return model

    def kept(self, seed: int) -> KeptAnswers:
        """Return the answers that are there for a seed."""
        place = self.key, seed
        if place not in self._kept:
            path = None if self.folder is None else self.folder / f"{_hash(list(place))[:12]}{_ENDING}"
            self._kept[place] = KeptAnswers(path)
        return self._kept[place]

    def fit(self, train: Corpus, valid: Corpus | None = None) -> NoReturn:
        """Raise `OptionError`: there is nothing to fit."""
        raise OptionError(f"{self.name} is an endpoint and cannot be fitted")

    def sample(
        self,
        n: int,
        *,
        seed: int,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        prefix: Corpus | None = None,
        context: Corpus | None = None,
    ) -> Corpus:
        """Return `n` answers; a temperature of 1 is that of the settings."""
        check_sample(n, seed=seed, temperature=temperature, top_p=top_p, generator=self.name)
        refuse(self.name, top_k=top_k, prefix=prefix, context=context)
        asked = {} if temperature == 1 else {"temperature": float(temperature)}
        if top_p is not None:
            asked["top_p"] = float(top_p)
        answers = self.changed(**asked).answers(n, seed=seed)
        return Corpus.from_texts([answer.text for answer in answers], tokenizer="whitespace")

    def answers(self, n: int, *, seed: int) -> list[Answer]:
        """Return the first `n` answers."""
        return [answer for part in self.draw(0, n, seed=seed) for answer in part]

    def draw(self, start: int, end: int, *, seed: int, kept: KeptAnswers | None = None) -> Iterator[list[Answer]]:
        """Yield the answers from `start` to before `end`, in order, as they come; those that are kept at once.

        Raises an `EndpointError` that says how many are there where the endpoint gives no more.
        """
        kept = self.kept(seed) if kept is None else kept
        place = start

        def ready() -> list[Answer]:
            nonlocal place
            first = place
            while place < end and place in kept:
                place += 1
            return [kept[number] for number in range(first, place)]

        if before := ready():
            yield before
        if place == end:
            return
        with nullcontext() if kept.path is None else one_run_at_a_time(kept.path):
            kept.read()
            missing = [number for number in range(place, end) if number not in kept]
            try:
                for _ in ask_each(
                    missing,
                    lambda number, stop: kept.add(number, self._ask(number, seed, stop)),
                    min(self.settings.concurrency, len(missing)),
                ):
                    if now := ready():
                        yield now
            except EndpointError as error:
                n_there = kept.n_of(end)
                is_kept = n_there > 0 and kept.path is not None
                where = ", stored on disk: the same command resumes from there" if is_kept else ""
                raise type(error)(f"{n_there:,} of {end:,} answers are there{where}; {error}") from None
        if now := ready():
            yield now

    def estimate(self, n: int, start: int = 0) -> Requests:
        """Return what answers from `start` to before `n` will take; tokens by the lengths of prompts."""
        settings = self.settings
        lengths = [about_tokens(prompt) for prompt in self.prompts]
        around = _AROUND if settings.mode == "chat" else 0
        around += 0 if settings.system is None else about_tokens(settings.system) + _AROUND
        full, rest = divmod(max(0, n - start), len(lengths))
        some = sum(lengths[(start + number) % len(lengths)] for number in range(rest))
        prompt_tokens = full * sum(lengths) + some + max(0, n - start) * around
        completion_tokens = None if settings.max_tokens is None else settings.max_tokens * max(0, n - start)
        price = self._price(prompt_tokens, completion_tokens)
        return Requests(max(0, n - start), prompt_tokens, completion_tokens, price)

    def note(self, answers: Sequence[Answer]) -> str:
        """Return what the answers took, and what an equal seed means for them."""
        prompt = sum(answer.prompt_tokens or 0 for answer in answers)
        completion = sum(answer.completion_tokens or 0 for answer in answers)
        silent = sum(answer.prompt_tokens is None or answer.completion_tokens is None for answer in answers)
        tokens = f"{prompt:,} prompt and {completion:,} completion tokens as the endpoint counts them"
        if silent:
            tokens = "tokens not told" if silent == len(answers) else f"{tokens} ({silent:,} answers without a count)"
        price = self._price(prompt, completion) if not silent else None
        tries, seconds = sum(answer.tries for answer in answers), sum(answer.seconds for answer in answers)
        each = f"{seconds / max(1, len(answers)):.2g} s each"
        parts = [f"{len(answers):,} answers of {self.settings.place} in {tries:,} requests, {each}", tokens]
        parts += [] if price is None else [f"{price:.4g} at the prices given"]
        served = sorted({answer.served for answer in answers if answer.served} - {self.settings.model})
        parts += [f"answered as {', '.join(served)}"] if served else []
        said = "endpoints may ignore a seed: the values are those of the stored texts, and new texts may differ"
        return f"{'; '.join(parts)}; {said}"

    def warnings(self, answers: Sequence[Answer]) -> list[str]:
        """Return what is to be known of answers that are not as they should be."""
        of = f"of {len(answers):,} answers"
        n_cut = sum(answer.finish == "length" for answer in answers)
        n_filtered = sum(answer.finish == "content_filter" for answer in answers)
        n_refused = sum(answer.refused for answer in answers)
        n_tools = sum(answer.finish in ("tool_calls", "function_call") for answer in answers)
        n_empty = sum(not answer.text.strip() for answer in answers)
        n_served = len({answer.served for answer in answers if answer.served})
        limit = "a limit of the endpoint" if self.settings.max_tokens is None else "max_tokens"
        found = {
            f"{n_cut:,} {of} are truncated at {limit} (finish reason length): increase max_tokens": n_cut,
            f"{n_filtered:,} {of} were withheld or truncated by a content filter": n_filtered,
            f"{n_refused:,} {of} are refusals": n_refused,
            f"{n_tools:,} {of} call a tool instead of answering": n_tools,
            f"{n_empty:,} {of} are empty; they count as empty texts": n_empty,
            f"the endpoint reported {n_served} names for its model": n_served > 1,
        }
        return [words for words, number in found.items() if number]

    def prompt_of(self, number: int) -> str:
        """Return the prompt that an answer belongs to."""
        return self.prompts[number % len(self.prompts)]

    def _price(self, prompt_tokens: int, completion_tokens: int | None) -> float | None:
        settings = self.settings
        if settings.input_price is None or settings.output_price is None or completion_tokens is None:
            return None
        return (prompt_tokens * settings.input_price + completion_tokens * settings.output_price) / 1e6

    def _ask(self, number: int, seed: int, stop: threading.Event) -> Answer:
        """Return answer `number`."""
        begun = time.perf_counter()
        is_chat = self.settings.mode == "chat"
        path = "chat/completions" if is_chat else "completions"
        try:
            document, tries = self._post(path, self._body(number, seed), stop)
        except FilteredError:
            return Answer("", "content_filter", seconds=round(time.perf_counter() - begun, 3))
        answer = _answer_of(document, is_chat, self.settings.place)
        self._client.spend((answer.prompt_tokens or 0) + (answer.completion_tokens or 0))
        return replace(answer, seconds=round(time.perf_counter() - begun, 3), tries=tries)

    def _post(self, path: str, body: dict[str, Any], stop: threading.Event) -> tuple[dict[str, Any], int]:
        """Send a request, with max_tokens by its other name where the endpoint asks for that."""
        try:
            return self._client.post(path, _with_new_name(body) if self._renamed else body, stop)
        except FilteredError:
            raise
        except EndpointError as error:
            if self._renamed or "max_tokens" not in body or "max_completion_tokens" not in str(error):
                raise
            self._renamed = True
        return self._client.post(path, _with_new_name(body), stop)

    def _body(self, number: int, seed: int) -> dict[str, Any]:
        settings, prompt = self.settings, self.prompt_of(number)
        body: dict[str, Any] = {"model": settings.model}
        if settings.mode == "chat":
            system = [] if settings.system is None else [{"role": "system", "content": settings.system}]
            body["messages"] = [*system, {"role": "user", "content": prompt}]
        else:
            body["prompt"] = prompt
        for name in ("temperature", "top_p", "max_tokens"):
            if getattr(settings, name) is not None:
                body[name] = getattr(settings, name)
        if settings.send_seed:  # its own for each, or an endpoint that heeds them would say the same each time
            body["seed"] = int(stream(seed, "endpoint", number).integers(2**31))
        return {**body, **(settings.extra or {})}


_DECIDING = ("mode", "prompt", "prompts", "system", "temperature", "top_p", "max_tokens", "send_seed", "extra")


def endpoint_model(source: object) -> EndpointModel | None:
    """Return the model of an endpoint that a generator is or stands for; None for any other generator."""
    model = getattr(source, "model", source)
    return model if isinstance(model, EndpointModel) else None


def _prompts(settings: EndpointSettings) -> tuple[str, ...]:
    if settings.prompts is None:
        if settings.prompt is None and settings.mode == "chat":
            raise OptionError(
                f"{PREFIX}{settings.model}: give a prompt: '...?prompt=Write one sentence of a review.', or "
                "'...?prompts=FILE' for many prompts"
            )
        return (settings.prompt or "",)
    if isinstance(settings.prompts, str):
        is_table = not settings.prompts.removesuffix(".gz").removesuffix(".zst").endswith(".txt")
        prompts = tuple(read_texts(settings.prompts, column=settings.prompt_column if is_table else None).texts)
    else:
        prompts = tuple(settings.prompts)
    if not prompts:
        raise InputError("prompts is empty: give at least one")
    return prompts


def _answer_of(document: Mapping[str, Any], is_chat: bool, place: str) -> Answer:
    """Return the answer that a response holds."""
    try:
        (choice, *_) = islice(document["choices"], 1)
        message = choice["message"] if is_chat else choice
        content = message.get("content" if is_chat else "text")
        refusal = message.get("refusal")
        finish = choice.get("finish_reason")
        if isinstance(content, list):  # in parts
            content = "".join(part.get("text") or "" for part in content if isinstance(part, Mapping))
        text = content if content is not None else refusal if refusal is not None else ""
        if not isinstance(text, str):
            raise TypeError
    except (KeyError, TypeError, ValueError, AttributeError):
        raise EndpointError(f"{place}: its answer is not a completion") from None
    usage = document.get("usage")
    served = document.get("model")
    return Answer(
        text,
        finish if isinstance(finish, str) else None,
        _number(usage, "prompt_tokens"),
        _number(usage, "completion_tokens"),
        served=served if isinstance(served, str) else None,
        refused=bool(refusal),
        first_log_probs=_first_log_probs(choice.get("logprobs"), is_chat),
    )


def _first_log_probs(told: Any, is_chat: bool) -> dict[str, float] | None:
    """Return the log-probabilities of first tokens that a response holds, if any."""
    try:
        (first, *_) = told["content"] if is_chat else told["top_logprobs"]
        rows = [(row["token"], row["logprob"]) for row in first["top_logprobs"]] if is_chat else list(first.items())
        found = {str(token): float(value) for token, value in rows}
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return {token: value for token, value in found.items() if math.isfinite(value)} or None


def _number(usage: Any, name: str) -> int | None:
    number = usage.get(name) if isinstance(usage, Mapping) else None
    return number if isinstance(number, int) else None


def _with_new_name(body: Mapping[str, Any]) -> dict[str, Any]:
    return {"max_completion_tokens" if name == "max_tokens" else name: value for name, value in body.items()}


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=list).encode()).hexdigest()
