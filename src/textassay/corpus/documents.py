"""Parse users' JSON and YAML safely, with one-line errors.

`json.loads` and `yaml.safe_load` raise errors of several kinds, such as for thousands of nested brackets, numbers of
5,000 digits or invalid dates, and a few hundred bytes of aliases can keep YAML busy for ever. `parse_json` and
`read_yaml` raise `InputError` for all.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from textassay.corpus.limits import document_limit, input_too_long
from textassay.errors import InputError

# Of YAML
_YAML_BYTES = 250_000
_DEPTH = 50  # nested levels
_NODES = 100_000  # with aliases expanded
_INTEGER_BITS = 1024
_FAULTS = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)  # PyYAML's, for invalid values


def parse_json(text: str | bytes, place: str = "", *, finite: bool = False) -> Any:
    """Return the value of a JSON text; with `finite`, NaN and Infinity, which Python's parser allows, are errors."""
    try:
        return json.loads(text, parse_constant=_reject if finite else None)
    except InputError as error:
        raise InputError(f"{place}: {error}" if place else str(error)) from None
    except (ValueError, RecursionError) as error:
        raise json_error(error, place) from None


def _reject(constant: str) -> None:
    raise InputError(f"{constant} is not a number")


def json_error(error: ValueError | RecursionError, place: str) -> InputError:
    """Return the one-line error for a JSON text at `place` on which `json.loads` raised `error`."""
    before = f"{place}: " if place else ""
    if isinstance(error, RecursionError):
        return InputError(f"{before}the JSON value is nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return InputError(f"{before}it is not UTF-8 (byte {error.start})")
    if not isinstance(error, json.JSONDecodeError):
        return InputError(f"{before}broken JSON: a number has too many digits")
    line = f"line {error.lineno} " if error.lineno > 1 else ""
    hint = "; a file with one value per line must be called .jsonl" if error.msg == "Extra data" else ""
    return InputError(f"{before}broken JSON at {line}column {error.colno}: {error.msg}{hint}")


def read_document(path: Path) -> str:
    """Return the text of a whole file without its byte order mark."""
    limit = document_limit()
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise input_too_long(str(path), limit)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start})") from None


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file of at most 250,000 bytes; see `parse_yaml`."""
    with path.open("rb") as file:
        content = file.read(_YAML_BYTES + 1)
    if len(content) > _YAML_BYTES:
        raise InputError(f"{path} has more than {_YAML_BYTES:,} bytes, the limit of a YAML file")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} must be a YAML file, but is not UTF-8 text (byte {error.start})") from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, place: str) -> Any:
    """Return the content of a YAML text: plain values, lists and mappings; dates stay strings."""
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _check_nodes(node, place)
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = place if mark is None else f"{place}, line {mark.line + 1}, column {mark.column + 1}"
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise InputError(f"{where}: broken YAML: {problem}") from None
    except RecursionError:
        raise InputError(f"{place}: the YAML is nested too deeply; {_DEPTH} levels are allowed") from None


class _Loader(yaml.SafeLoader):
    """The safe loader, with positions in errors of invalid values, and dates as strings."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in pairs if tag != "tag:yaml.org,2002:timestamp"]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:  # noqa: N803
        """Limit the depth here, because the scanner reads all nested brackets before anything is checked."""
        if self.flow_level >= _DEPTH:
            raise RecursionError
        super().fetch_flow_collection_start(TokenClass)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep=deep)
            if isinstance(value, int) and value.bit_length() > _INTEGER_BITS:
                raise ValueError
            return value
        except _FAULTS:
            kind = str(node.tag).rpartition(":")[2]
            raise yaml.constructor.ConstructorError(
                None, None, f"the value is not a valid {kind}, or is a number with too many digits", node.start_mark
            ) from None


def _check_nodes(root: yaml.Node, place: str) -> None:
    """Raise if the nodes under `root` are nested too deeply, are too many with aliases expanded, or are recursive."""
    sizes: dict[int, int] = {}  # of visited nodes; an alias is the very node it names
    open_nodes: set[int] = set()
    stack: list[tuple[yaml.Node, bool]] = [(root, False)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            open_nodes.discard(id(node))
            sizes[id(node)] = 1 + sum(sizes[id(part)] for part in _parts(node))
            if sizes[id(node)] > _NODES:
                raise InputError(
                    f"{place}, line {node.start_mark.line + 1}: the YAML may hold {_NODES:,} values with its aliases "
                    "(*name) expanded, and holds more"
                )
        elif id(node) in open_nodes:
            raise InputError(
                f"{place}, line {node.start_mark.line + 1}: the YAML value contains itself through an alias (*name)"
            )
        elif id(node) not in sizes:
            if len(open_nodes) == _DEPTH:
                raise InputError(f"{place}: the YAML is nested too deeply; {_DEPTH} levels are allowed")
            _check_keys(node, place)
            open_nodes.add(id(node))
            stack.append((node, True))
            stack.extend((part, False) for part in _parts(node))


def _check_keys(node: yaml.Node, place: str) -> None:
    """Raise where a mapping has a key twice, one of which would be dropped."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    keys = Counter((key.tag, key.value) for key, _ in pairs if isinstance(key, yaml.ScalarNode) and key.value != "<<")
    for (_, key), number in keys.items():
        if number > 1:
            raise InputError(f"{place}, line {node.start_mark.line + 1}: the YAML has the key '{key}' {number} times")


def _parts(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []
