"""Tasks on the nodes of a Ray cluster.

The function of one `map_tasks` is sent once, and so are objects of the classes marked `sent_once`, such as corpora:
they lie in Ray's object store, which the processes of a node share, and their NumPy arrays are views of it. A process
keeps what it opened last, so that a function's state, such as what its metrics share, lasts from task to task.
"""

import io
import logging
import os
import pickle
import shutil
import signal
import socket
import tempfile
import threading
import traceback
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import numpy.typing as npt

from textassay.errors import ClusterError, MissingExtraError, OptionError, TextassayError
from textassay.execution.tasks import CARRIED, OF_TASK, SENT_ONCE, Item, Outcome
from textassay.execution.threads import CLUSTER, allowed_workers, default_workers, device_name, workers
from textassay.storage import is_running

AUTO = "auto"
MAX_RETRIES = 3  # how often a task is run again whose process or node died
_AHEAD = 2  # tasks handed out for each that can run: the next one waits where the last one ends
_KEPT = 16  # objects that a process keeps open
_SECONDS_BETWEEN_LOOKS = 1.0
_PREFIX = "textassay-ray-"
_REACHED_SECONDS = 20.0
_NO_MORE: Any = object()

_Bytes = npt.NDArray[np.uint8]
_Packed = tuple[_Bytes, list[_Bytes]]  # a pickle, and the arrays that it leaves out


@contextmanager
def cluster(address: str | None = AUTO) -> Iterator[None]:
    """Run the tasks of comparisons, benches, stress tests and studies on a Ray cluster, inside the ``with`` block.

    Numbers are those of one machine with as many threads a task: `workers`, one by default.

    Parameters
    ----------
    address
        Of a running cluster, such as ``10.0.0.1:6379``. ``auto``: that of the environment variable RAY_ADDRESS; where
        there is none, Ray is started on the processors of this machine, and stopped at the end. None: no cluster.

    Raises
    ------
    MissingExtraError
        If Ray is not installed.
    OptionError
        If no cluster answers at `address`, or a node has another version of textassay.
    ClusterError
        If the process or the node of one task died again and again.
    """
    if address is None or CLUSTER.get() is not None:
        yield
        return
    try:
        import ray
    except ImportError:
        raise MissingExtraError("a cluster", "ray") from None
    with _joined(ray, address):
        token = CLUSTER.set(RayCluster(ray))
        try:
            yield
        finally:
            CLUSTER.reset(token)


@contextmanager
def _joined(ray: Any, address: str) -> Iterator[None]:
    """Join a cluster, or start one on this machine, unless this process is part of one already."""
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address == AUTO:
        address = os.environ.get("RAY_ADDRESS", "")
    folder = None if address else _new_folder()
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    stop = before if callable(before) else _stop
    is_terminated = False

    def heed(number: int, frame: FrameType | None) -> None:
        nonlocal is_terminated
        is_terminated = True
        stop(number, frame)

    try:
        try:
            _init(ray, address, folder)
        except SystemExit:  # by the handler that Ray has while it starts
            is_terminated = True
            raise
        if is_main:  # Ray has put its own there, with its own exit status
            signal.signal(signal.SIGTERM, heed)
        yield
    except (KeyboardInterrupt, SystemExit):
        if is_terminated:
            stop(signal.SIGTERM, None)  # Ray, where it waits, has put this in place of what `heed` raised
        raise
    finally:
        ray.shutdown()
        if is_main:
            signal.signal(signal.SIGTERM, before)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _init(ray: Any, address: str, folder: Path | None) -> None:
    """Join the cluster at `address`; where it is empty, start one whose files lie in `folder`."""
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    _check_reached(address)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if address:
                ray.init(address, **quiet)
            else:
                processors = default_workers()
                ray.init("local", num_cpus=processors, include_dashboard=False, _temp_dir=str(folder), **quiet)
    except Exception as error:  # of many kinds
        where = f"no Ray cluster answers at {address}" if address else "Ray did not start"
        raise OptionError(f"{where}: {str(error).splitlines()[0]}") from error


def _check_reached(address: str) -> None:
    """Raise where nothing answers at ``HOST:PORT`` or ``ray://HOST:PORT``: Ray itself waits for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACHED_SECONDS).close()
    except (OSError, OverflowError) as error:
        reason = (
            "no answer" if isinstance(error, TimeoutError) else str(getattr(error, "strerror", None) or error).lower()
        )
        raise OptionError(f"no Ray cluster answers at {address}: {reason}; check the address") from None


def _new_folder() -> Path:
    """Return a folder for Ray's own files; those of processes that were killed are removed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        process = folder.name.removeprefix(_PREFIX).split("-")[0]
        if process.isdecimal() and not is_running(int(process)):
            shutil.rmtree(folder, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


@contextmanager
def _here() -> Iterator[None]:
    """Let no task be handed out inside the ``with`` block."""
    token = CLUSTER.set(None)
    try:
        yield
    finally:
        CLUSTER.reset(token)


class RayCluster:
    """Where the tasks of a process go that has joined a cluster."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._run = ray.remote(_run)
        self._sent: WeakKeyDictionary[object, _Sent] = WeakKeyDictionary()
        self._by_key: WeakValueDictionary[str, object] = WeakValueDictionary()

    def map(
        self, function: Callable[[Item], Outcome], items: Iterable[Item], tell: Callable[[Item], None]
    ) -> Iterator[tuple[Item, Outcome]]:
        ray = self._ray
        n_gpus = _n_gpus()
        state = self.sent(_State(version("textassay"), function, allowed_workers(), _carried()))
        waiting = iter(items)
        running: dict[Any, Item] = {}
        is_last = False
        told: Any = None
        try:
            while True:
                n_cpus, n_places = self._room(n_gpus)
                while not is_last and len(running) < _AHEAD * n_places:
                    with _here():  # these tasks run, and what `items` itself hands out would wait behind them
                        item = next(waiting, _NO_MORE)
                    if item is _NO_MORE:
                        is_last = True
                        break
                    running[self._start(state, item, n_cpus, n_gpus)] = item
                if not running:
                    return
                first = next(iter(running))
                if told != (first, len(running)):
                    told = first, len(running)
                    tell(running[first])
                done, _ = ray.wait(list(running), num_returns=1, timeout=_SECONDS_BETWEEN_LOOKS)
                for task in done:
                    outcome = self._outcome(task)
                    yield running.pop(task), outcome
        finally:
            self._cancel(list(running))

    def is_idle(self) -> bool:
        if _n_gpus() > 0:
            return False  # unlike its processor, a task that waits keeps its GPU, and its parts could wait for that
        return bool(self._ray.available_resources().get("CPU", 0) >= 1)

    def map_parts(self, function: Callable[[Item], Outcome], items: Iterable[Item]) -> list[Outcome]:
        """Return ``[function(item) for item in items]``; a task that calls this gives its processor back meanwhile."""
        state = self.sent(_State(version("textassay"), function, 1, _carried()))
        tasks = [self._start(state, item, 1, 0) for item in items]
        outcomes: list[Outcome] = []
        try:
            for task in tasks:
                outcomes.append(self._outcome(task))
        finally:
            self._cancel(tasks[len(outcomes) :])
        return outcomes

    def _cancel(self, tasks: list[Any]) -> None:
        """End the tasks that still run; to cancel one that has ended may kill the process of another."""
        if tasks:
            _, running = self._ray.wait(tasks, num_returns=len(tasks), timeout=0)
            for task in running:
                self._ray.cancel(task, force=True)

    def _start(self, state: "_Sent", item: object, n_cpus: int, n_gpus: int) -> Any:
        packed, needs = self._pack(item)
        needs |= state.needs
        task = self._run.options(num_cpus=n_cpus, num_gpus=n_gpus, max_retries=MAX_RETRIES)
        return task.remote(state.key, needs, packed, *needs.values())

    def _room(self, n_gpus: int) -> tuple[int, int]:
        """Return the processors of a task, all of a node at most, and how many tasks can run at once."""
        alive = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        nodes = [node for node in alive if node.get("GPU", 0) >= n_gpus]
        if alive and not nodes:
            raise OptionError("no node of the cluster has a GPU: choose device auto or cpu")
        n_cpus = max(1, min(allowed_workers(), max((int(node.get("CPU", 0)) for node in nodes), default=1)))
        places = [node.get("CPU", 0) // n_cpus for node in nodes]
        if n_gpus > 0:
            places = [min(place, node["GPU"] // n_gpus) for place, node in zip(places, nodes, strict=True)]
        return n_cpus, max(1, int(sum(places)))

    def sent(self, thing: object) -> "_Sent":
        """Return where an object lies in the store of the cluster, put there at the first call."""
        sent = self._sent.get(thing)
        if sent is None:
            packed, needs = self._pack(thing, root=thing)
            reference = self._ray.put(packed)
            key = str(reference.hex())
            sent = self.keep(thing, _Sent(key, {key: reference, **needs}))
        return sent

    def keep(self, thing: object, sent: "_Sent") -> "_Sent":
        self._sent[thing] = sent
        self._by_key[sent.key] = thing
        return sent

    def _pack(self, thing: object, root: object = None) -> tuple[_Packed, dict[str, Any]]:
        """Return what `thing` is sent as, and the objects in the store that it needs, by key."""
        needs: dict[str, Any] = {}
        buffers: list[_Bytes] = []

        def key_of(part: object) -> str | None:
            if part is root:
                return None
            sent = self.sent(part)
            needs.update(sent.needs)
            return sent.key

        packed = _packed(thing, key_of, lambda buffer: buffers.append(_as_array(buffer.raw())))
        return (_as_array(packed), buffers), needs

    def pack_result(self, result: "_Result", needs: Mapping[str, Any]) -> bytes:
        """Return what comes back of a task; objects that were sent with it come back as themselves."""

        def key_of(part: object) -> str | None:
            sent = self._sent.get(part)
            return sent.key if sent is not None and sent.key in needs else None

        return bytes(_packed(result, key_of))

    def _outcome(self, task: Any) -> Any:
        """Return what a task returned; raise what it raised, and show its warnings."""
        ray = self._ray
        try:
            packed = ray.get(task)
        except ray.exceptions.OutOfMemoryError as error:
            raise MemoryError(str(error).splitlines()[0]) from error
        except ray.exceptions.RayError as error:
            reason = str(getattr(error, "cause", None) or error).strip().splitlines()[-1]
            raise ClusterError(f"the cluster could not run a task: {reason}") from error
        result: _Result = _Unpickler(packed, (), self._by_key.__getitem__).load()
        for warning in result.warnings:
            warnings.warn(warning, stacklevel=2)
        if result.error is not None:
            raise result.error.made()
        return result.outcome


@dataclass(frozen=True)
class _Sent:
    key: str
    needs: Mapping[str, Any]  # references to the object itself and to all that it holds, by key


@dataclass(frozen=True, eq=False)
class _State:
    """What all tasks of one `map_tasks` have in common."""

    version: str
    function: Callable[[Any], Any]
    n_workers: int
    variables: Mapping[str, Any]  # values of those that are `carried`


@dataclass(frozen=True)
class _Failure:
    """An error, without what its class does when it is made anew."""

    kind: type[BaseException]
    arguments: tuple[Any, ...]
    attributes: Mapping[str, Any]

    @classmethod
    def of(cls, error: BaseException) -> "_Failure":
        return cls(type(error), error.args, vars(error))

    def made(self) -> BaseException:
        error = self.kind.__new__(self.kind, *self.arguments)
        vars(error).update(self.attributes)
        return error


@dataclass(frozen=True)
class _Result:
    outcome: Any
    error: _Failure | None
    warnings: tuple[Warning, ...]


def _n_gpus() -> int:
    """Return how many GPUs a task needs: one, where networks are told to use it."""
    name = device_name()
    if name not in ("auto", "cpu", "cuda"):
        raise OptionError(f"on a cluster, device must be auto, cpu or cuda, got '{name}'")
    return int(name == "cuda")


def _carried() -> dict[str, Any]:
    context = copy_context()
    return {name: context[variable] for name, variable in CARRIED.items() if variable in context}


def _packed(
    thing: object, key_of: Callable[[object], str | None], leave_out: Callable[[Any], object] | None = None
) -> memoryview:
    """Return a pickle without the arrays that `leave_out` takes, and without the objects that `key_of` knows."""
    from ray import cloudpickle

    class Pickler(cloudpickle.Pickler):
        def persistent_id(self, part: object) -> str | None:
            return key_of(part) if type(part) in SENT_ONCE else None

    file = io.BytesIO()
    Pickler(file, protocol=5, buffer_callback=leave_out).dump(thing)  # type: ignore[no-untyped-call]
    return file.getbuffer()


class _Unpickler(pickle.Unpickler):
    def __init__(self, packed: Any, buffers: Iterable[Any], opened: Callable[[str], Any]) -> None:
        super().__init__(io.BytesIO(packed), buffers=buffers)
        self._opened = opened

    def persistent_load(self, key: str) -> Any:
        return self._opened(key)


def _as_array(buffer: Any) -> _Bytes:
    return np.asarray(buffer, dtype=np.uint8)


# What runs in the processes of the cluster
_open: OrderedDict[str, Any] = OrderedDict()  # what this process opened last, by key
_alive: WeakValueDictionary[str, Any] = WeakValueDictionary()  # and all of it that something still holds


@cache
def _cluster() -> RayCluster:
    """Return where the parts of this process's tasks go."""
    import ray

    return RayCluster(ray)


@dataclass(frozen=True)
class _Parcel:
    """The objects in the store that a task needs: references to them, and what they hold, by key."""

    needs: Mapping[str, Any]
    values: Mapping[str, _Packed]

    def unpacked(self, packed: _Packed) -> tuple[Any, dict[str, Any]]:
        """Return an object, and references to all that it holds."""
        needs: dict[str, Any] = {}

        def opened(key: str) -> Any:
            thing = self.opened(key)
            needs.update(_cluster().sent(thing).needs)
            return thing

        return _Unpickler(packed[0].data, packed[1], opened).load(), needs

    def opened(self, key: str) -> Any:
        """Return the object that was sent under `key`, the same one for all that hold it."""
        thing = _alive.get(key)
        if thing is None:
            thing, needs = self.unpacked(self.values[key])
            _alive[key] = thing
            _cluster().keep(thing, _Sent(key, {key: self.needs[key], **needs}))
        if isinstance(thing, _State):  # what the functions of others have computed may fill the memory
            for other in [name for name, each in _open.items() if isinstance(each, _State)]:
                del _open[other]
        _open[key] = thing
        _open.move_to_end(key)
        while len(_open) > _KEPT:
            _open.popitem(last=False)
        return thing


def _work(state: _State, item: Any) -> Any:
    for name, value in state.variables.items():
        CARRIED[name].set(value)
    OF_TASK.set(_cluster())
    with workers(state.n_workers):
        return state.function(item)


def _run(key: str, needs: Mapping[str, Any], item: _Packed, *values: _Packed) -> bytes:
    """Return the pickled result of one task."""
    parcel = _Parcel(needs, dict(zip(needs, values, strict=True)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcome, error = None, None
        try:
            state: _State = parcel.opened(key)
            here = version("textassay")
            if state.version != here:
                raise OptionError(
                    f"a node of the cluster has textassay {here}, not {state.version}: install the same version"
                )
            outcome = copy_context().run(_work, state, parcel.unpacked(item)[0])
        except Exception as raised:
            if not isinstance(raised, TextassayError):  # which is the user's
                raised.add_note("on the cluster:\n" + "".join(traceback.format_exception(raised)))
            error = _Failure.of(raised)
    messages = tuple(dict.fromkeys(each.message for each in caught if isinstance(each.message, Warning)))
    return _cluster().pack_result(_Result(outcome, error, messages), needs)
