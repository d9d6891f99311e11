"""An external generator: a command that prints samples. It has no probabilities and no settings."""

import math
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import TracebackType
from typing import Any, NoReturn, Self

from textassay.corpus.corpus import Corpus
from textassay.corpus.documents import parse_json
from textassay.errors import InputError, OptionError
from textassay.ngram.language_model import check_sample, refuse

_GRACE = 2.0  # seconds between SIGTERM and SIGKILL
_LAST_BYTES = 2000  # of its messages that are kept
_BLOCK = 1 << 16  # bytes read at once


class ExternalCommand:
    """A command that prints samples; a `Generator`.

    `command`: for the shell. ``{n}`` and ``{seed}`` in it become the number of sentences, which it must print exactly,
    one a line, and the seed, which should decide them.
    """

    def __init__(
        self,
        command: str,
        *,
        column: str | None = None,
        timeout: float | None = None,
    ) -> None:
        if not command.strip():
            raise OptionError("the command of an external generator is empty")
        if timeout is not None and not timeout > 0:
            raise OptionError(f"timeout must be above 0 seconds, got {timeout}")
        self.command = command
        self.column = column
        self.timeout = timeout

    @property
    def name(self) -> str:
        """Such as ``command(my-model --n {n} --seed {seed})``."""
        return f"command({' '.join(self.command.split())})"

    def fit(self, train: Corpus, valid: Corpus | None = None) -> NoReturn:
        """Raise `OptionError`: there is nothing to fit."""
        raise OptionError(f"{self.name} is external and cannot be fitted")

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
        """Return the `n` sentences that the command prints for `seed`; no other setting is known.

        When this ends, for whatever reason, nothing that the command started in its process group runs any more.
        """
        refuse(self.name, temperature=temperature, top_k=top_k, top_p=top_p, prefix=prefix, context=context)
        check_sample(n, seed=seed, generator=self.name)
        with self.lines(n, seed, patience=math.inf) as output:
            try:
                lines = output.read(n + 1)
                if len(lines) > n:
                    raise InputError(f"{self.name} printed more than {n} sentences")
                failure = output.ended()
            except CommandTooSlowError as error:
                raise InputError(f"{error} and printed {output.n_lines:,} of {n:,}") from None
        if failure:
            raise InputError(f"{self.name} failed after {len(lines)} of {n} sentences; {failure}")
        if len(lines) < n:
            raise InputError(f"{self.name} printed {len(lines)} of {n} sentences; it ended with status 0")
        texts = [self.sentence(line, number) for number, line in enumerate(lines, start=1)]
        return Corpus.from_texts(texts, tokenizer="whitespace")

    def lines(self, n: int, seed: int, *, patience: float) -> "CommandLines":
        """Start the command and return its lines, to be read as they are needed; see `CommandLines`."""
        command = self.command.replace("{n}", str(n)).replace("{seed}", str(seed))
        return CommandLines(command, self.name, patience=patience, timeout=self.timeout)

    def sentence(self, line: bytes, number: int) -> str:
        """Return the sentence of a line; `number` counts from 1."""
        try:
            text = line.removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise InputError(f"{self.name}: line {number} is not UTF-8 (byte {error.start + 1})") from None
        if self.column is None:
            return text
        try:
            value = parse_json(text)
            for key in self.column.split("."):
                value = value[key]
        except (ValueError, KeyError, TypeError, IndexError):
            raise InputError(f"{self.name}: line {number} is not a JSON object with '{self.column}'") from None
        if not isinstance(value, str):
            raise InputError(f"{self.name}: '{self.column}' in line {number} must be a string, got {value!r}")
        return value


class CommandTooSlowError(InputError):
    """A command printed nothing for too long, or took longer than it may."""


class CommandLines:
    """The lines of a running command, read as they are needed; while nobody reads, it waits.

    At the end of the ``with`` block nothing that it started in its process group runs any more.
    """

    def __init__(self, command: str, name: str, *, patience: float, timeout: float | None) -> None:
        self._name = name
        self._patience = patience
        self._timeout = math.inf if timeout is None else timeout
        self._deadline = time.monotonic() + self._timeout
        self._open = ExitStack()
        self._process = self._open.enter_context(_group(command))
        self._selector = self._open.enter_context(selectors.DefaultSelector())
        self._lines: list[bytes] = []
        self._begun = [b""]  # parts of the line that is not yet whole
        self._n_whole = 0
        self._messages = b""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._output = self._process.stdout
        for stream in (self._output, self._process.stderr):
            self._selector.register(stream, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def read(self, n: int) -> list[bytes]:
        """Return the next `n` lines, or what is left at the end; may raise `CommandTooSlowError`."""
        while len(self._lines) < n and self._output in self._streams():
            self._read_block()
        lines, self._lines = self._lines[:n], self._lines[n:]
        return lines

    @property
    def n_lines(self) -> int:
        """Number of lines that the command has printed, the last of them perhaps in part."""
        return self._n_whole + any(self._begun)

    def ended(self) -> str:
        """Wait until the command has ended; return how it failed, empty where it did not."""
        while self._streams():
            self._read_block()
        try:
            status = self._process.wait(min(self._deadline - time.monotonic(), self._patience))
        except subprocess.TimeoutExpired:
            raise self._late() from None
        _signal(self._process, signal.SIGKILL)  # the others of its group, before its number may be taken again
        message = _last_line(self._messages)
        return "" if status == 0 else f"it ended with status {status}" + (f": {message}" if message else "")

    def _streams(self) -> list[Any]:
        return [key.fileobj for key in self._selector.get_map().values()]

    def _read_block(self) -> None:
        left = min(self._patience, self._deadline - time.monotonic())
        ready = self._selector.select(None if left == math.inf else max(left, 0.0))
        if not ready:
            raise self._late()
        for key, _ in ready:
            block = os.read(key.fd, _BLOCK)
            if key.fileobj is not self._output:
                self._messages = (self._messages + block)[-_LAST_BYTES:]
            elif block:
                first, *others = block.split(b"\n")
                self._begun.append(first)
                for other in others:
                    self._lines.append(b"".join(self._begun))
                    self._begun = [other]
                self._n_whole += len(others)
            elif last := b"".join(self._begun):
                self._lines.append(last)
            if not block:
                self._selector.unregister(key.fileobj)

    def _late(self) -> CommandTooSlowError:
        if time.monotonic() >= self._deadline:
            return CommandTooSlowError(f"{self._name} took longer than {self._timeout:g} seconds")
        return CommandTooSlowError(f"{self._name} printed nothing for {self._patience:g} seconds and was terminated")


def _last_line(messages: bytes) -> str:
    """Return the last line of what a command wrote to its standard error."""
    lines = [line.strip() for line in messages.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1] if lines else ""


@contextmanager
def _group(command: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a shell command in a process group of its own; at the end of the block none of the group is left."""
    process = subprocess.Popen(
        command,
        shell=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        _kill(process)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def _signal(process: "subprocess.Popen[bytes]", number: int) -> None:
    """Send a signal to the whole group of a process."""
    with suppress(ProcessLookupError, PermissionError):  # a group without living processes, on some systems
        os.killpg(process.pid, number)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End the whole group of a process, first by a request, then by force, unless it is known to have ended."""
    if process.returncode is not None:
        return
    _signal(process, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE)
    _signal(process, signal.SIGKILL)
    process.wait()
