"""YAML that users give: every fault is one line, and no file costs more than its size.

`read_yaml` takes the place of `yaml.safe_load`, which a few hundred bytes of aliases keep busy for ever, and which ends
in errors of other kinds for brackets nested by the thousand, numbers of 5,000 digits and dates that are none.
"""

from pathlib import Path
from typing import Any

import yaml

from textassay.errors import InputError

_YAML_BYTES = 250_000
_DEPTH = 50  # levels of a document
_NODES = 100_000  # of a document, once its aliases are written out
_INTEGER_BITS = 1024
_FAULTS = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)  # of PyYAML, for odd values


def read_yaml(path: Path) -> Any:
    """Return what a YAML file of 250,000 bytes at most holds; see `parse_yaml`."""
    with path.open("rb") as file:
        content = file.read(_YAML_BYTES + 1)
    if len(content) > _YAML_BYTES:
        raise InputError(f"{path} has more than {_YAML_BYTES:,} bytes: a YAML file of settings is shorter")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}): it must be a YAML file") from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, place: str) -> Any:
    """Return what a YAML text holds: plain values, lists and mappings; dates stay as they are written."""
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
    """The safe loader; a value that it cannot make is an error with a place, and dates are plain text."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in pairs if tag != "tag:yaml.org,2002:timestamp"]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:  # noqa: N803
        """Begin a list or mapping in brackets, of which the scanner would look through thousands first."""
        if self.flow_level >= _DEPTH:
            raise RecursionError
        super().fetch_flow_collection_start(TokenClass)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return the value of `node`."""
        try:
            value = super().construct_object(node, deep=deep)
            if isinstance(value, int) and value.bit_length() > _INTEGER_BITS:
                raise ValueError
            return value
        except _FAULTS:
            kind = str(node.tag).rpartition(":")[2]
            raise yaml.constructor.ConstructorError(
                None, None, f"the value is no valid {kind}, or too long a number", node.start_mark
            ) from None


def _check_nodes(root: yaml.Node, place: str) -> None:
    """Raise where the nodes under `root` are too deep, too many once aliases are written out, or hold themselves."""
    sizes: dict[int, int] = {}  # of what is done; an alias is the node it stands for
    open_nodes: set[int] = set()
    stack: list[tuple[yaml.Node, bool]] = [(root, False)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            open_nodes.discard(id(node))
            sizes[id(node)] = 1 + sum(sizes[id(part)] for part in _parts(node))
            if sizes[id(node)] > _NODES:
                raise InputError(
                    f"{place}, line {node.start_mark.line + 1}: the YAML holds more than {_NODES:,} values once its "
                    "aliases (*name) are written out: write less"
                )
        elif id(node) in open_nodes:
            raise InputError(
                f"{place}, line {node.start_mark.line + 1}: the YAML value holds itself by an alias (*name)"
            )
        elif id(node) not in sizes:
            if len(open_nodes) == _DEPTH:
                raise InputError(f"{place}: the YAML is nested too deeply; {_DEPTH} levels are allowed")
            open_nodes.add(id(node))
            stack.append((node, True))
            stack.extend((part, False) for part in _parts(node))


def _parts(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []
