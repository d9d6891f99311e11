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
import tempfile
import threading
import traceback
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import numpy.typing as npt

from textassay.errors import ClusterError, MissingExtraError, OptionError, TextassayError
from textassay.execution.tasks import CARRIED, SENT_ONCE, Item, Outcome
from textassay.execution.threads import CLUSTER, allowed_workers, default_workers, device_name, workers
from textassay.storage import is_running

AUTO = "auto"
MAX_RETRIES = 3  # how often a task is run again whose process or node died
_AHEAD = 2  # tasks handed out for each that can run: the next one waits where the last one ends
_KEPT = 16  # objects that a process keeps open
_SECONDS_BETWEEN_LOOKS = 1.0
_PREFIX = "textassay-ray-"
_NO_MORE: Any = object()

_Packed = tuple[npt.NDArray[np.uint8], list[npt.NDArray[np.uint8]]]  # a pickle, and the arrays that it leaves out


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

    def map(
        self, function: Callable[[Item], Outcome], items: Iterable[Item], tell: Callable[[Item], None]
    ) -> Iterator[tuple[Item, Outcome]]:
        """Yield each item with ``function(item)``, as the tasks end."""
        ray = self._ray
        device_name()  # a network may use it, elsewhere
        state = self._send(_State(version("textassay"), function, allowed_workers(), _carried()))
        waiting = iter(items)
        running: dict[Any, Item] = {}
        is_last = False
        told: Any = None
        try:
            while True:
                n_cpus, n_places = self._room()
                while not is_last and len(running) < _AHEAD * n_places:
                    with _here():  # these tasks run, and what `items` itself hands out would wait behind them
                        item = next(waiting, _NO_MORE)
                    if item is _NO_MORE:
                        is_last = True
                        break
                    packed, needs = self._pack(item)
                    needs |= state.needs
                    task = self._run.options(num_cpus=n_cpus, max_retries=MAX_RETRIES)
                    running[task.remote(state.key, list(needs), packed, *needs.values())] = item
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
            for task in running:
                ray.cancel(task, force=True)

    def _room(self) -> tuple[int, int]:
        """Return the processors of a task, all of a node at most, and how many tasks can run at once."""
        of_nodes = [int(node["Resources"].get("CPU", 0)) for node in self._ray.nodes() if node["Alive"]]
        n_cpus = max(1, min(allowed_workers(), max(of_nodes, default=1)))
        return n_cpus, max(1, sum(of_node // n_cpus for of_node in of_nodes))

    def _send(self, thing: object) -> "_Sent":
        """Return where an object lies in the store of the cluster, put there at the first call."""
        sent = self._sent.get(thing)
        if sent is None:
            packed, needs = self._pack(thing, root=thing)
            reference = self._ray.put(packed)
            key = str(reference.hex())
            sent = self._sent[thing] = _Sent(key, {key: reference, **needs})
        return sent

    def _pack(self, thing: object, root: object = None) -> tuple[_Packed, dict[str, Any]]:
        """Return what `thing` is sent as, and the objects in the store that it needs, by key."""
        pickler = _pickler(self, root)
        pickler.dump(thing)
        return (_as_array(pickler.file.getbuffer()), list(map(_as_array, pickler.buffers))), pickler.needs

    def _outcome(self, task: Any) -> Any:
        """Return what a task returned; raise what it raised, and show its warnings."""
        ray = self._ray
        try:
            result: _Result = pickle.loads(ray.get(task))
        except ray.exceptions.OutOfMemoryError as error:
            raise MemoryError(str(error).splitlines()[0]) from error
        except ray.exceptions.RayError as error:
            reason = str(getattr(error, "cause", None) or error).strip().splitlines()[-1]
            raise ClusterError(f"the cluster could not run a task: {reason}") from error
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


def _carried() -> dict[str, Any]:
    context = copy_context()
    return {name: context[variable] for name, variable in CARRIED.items() if variable in context}


def _pickler(sender: RayCluster, root: object) -> Any:
    """Return a pickler that leaves arrays out, and sends objects marked `sent_once` by themselves."""
    from ray import cloudpickle

    class Pickler(cloudpickle.Pickler):
        def __init__(self) -> None:
            self.file = io.BytesIO()
            self.buffers: list[memoryview] = []
            self.needs: dict[str, Any] = {}
            super().__init__(self.file, protocol=5, buffer_callback=lambda part: self.buffers.append(part.raw()))  # type: ignore[no-untyped-call]

        def persistent_id(self, thing: object) -> str | None:
            if type(thing) not in SENT_ONCE or thing is root:
                return None
            sent = sender._send(thing)
            self.needs |= sent.needs
            return sent.key

    return Pickler()


def _as_array(buffer: Any) -> npt.NDArray[np.uint8]:
    return np.asarray(buffer, dtype=np.uint8)


# What runs in the processes of the cluster
_open: OrderedDict[str, Any] = OrderedDict()  # what this process opened last, by key
_alive: WeakValueDictionary[str, Any] = WeakValueDictionary()  # and all of it that something still holds


class _Unpickler(pickle.Unpickler):
    def __init__(self, packed: _Packed, parts: Mapping[str, _Packed]) -> None:
        super().__init__(io.BytesIO(packed[0].data), buffers=packed[1])
        self._parts = parts

    def persistent_load(self, key: str) -> Any:
        return _opened(key, self._parts)


def _opened(key: str, parts: Mapping[str, _Packed]) -> Any:
    """Return the object that was sent under `key`, the same one for all that hold it."""
    thing = _alive.get(key)
    if thing is None:
        thing = _alive[key] = _Unpickler(parts[key], parts).load()
    _open[key] = thing
    _open.move_to_end(key)
    while len(_open) > _KEPT:
        _open.popitem(last=False)
    return thing


def _work(state: _State, item: Any) -> Any:
    for name, value in state.variables.items():
        CARRIED[name].set(value)
    with workers(state.n_workers):
        return state.function(item)


def _run(key: str, keys: list[str], item: _Packed, *values: _Packed) -> bytes:
    """Return the pickled result of one task."""
    from ray import cloudpickle

    parts = dict(zip(keys, values, strict=True))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcome, error = None, None
        try:
            state: _State = _opened(key, parts)
            here = version("textassay")
            if state.version != here:
                raise OptionError(f"a node of the cluster has textassay {here}, not {state.version}: install the same")
            outcome = copy_context().run(_work, state, _Unpickler(item, parts).load())
        except Exception as raised:
            if not isinstance(raised, TextassayError):  # which is the user's
                raised.add_note("on the cluster:\n" + "".join(traceback.format_exception(raised)))
            error = _Failure.of(raised)
    messages = tuple(dict.fromkeys(each.message for each in caught if isinstance(each.message, Warning)))
    result = _Result(outcome, error, messages)
    packed: bytes = cloudpickle.dumps(result)
    return packed
