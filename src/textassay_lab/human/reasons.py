"""Why people judge a text as fake: comments coded into groups of reasons by keywords.

The default list (``reasons.yaml``) has eight groups; users may give another. A comment may belong to several groups;
those in no group are listed, so that the list can be improved.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges", 2019, section 5 (the eight groups).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from textassay.corpus.documents import read_yaml
from textassay.errors import InputError
from textassay_lab.human.judgements import Comment

_DEFAULT = Path(__file__).with_name("reasons.yaml")
_BETWEEN = "(?: [a-z0-9]+){0,4}"


@dataclass(frozen=True)
class ReasonGroup:
    name: str
    title: str
    keywords: tuple[str, ...]


@dataclass(frozen=True)
class Reasons:
    """Groups of keywords, and whole comments to ignore.

    A keyword is one or more whole words in any case, without apostrophes. ``*`` matches any letters of a word, ``..``
    up to four words of the same sentence.
    """

    groups: tuple[ReasonGroup, ...]
    ignored: frozenset[str]

    @cached_property
    def _patterns(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        return tuple((group.name, re.compile("|".join(map(_pattern, group.keywords)))) for group in self.groups)

    def code(self, comment: str) -> tuple[str, ...]:
        """Return the names of the groups of a comment, in the order of the list.

        >>> read_reasons().code("Far too vague. And one didn't make any sense!")
        ('vague', 'logic')
        """
        words = _words(comment)
        return tuple(name for name, pattern in self._patterns if pattern.search(words))

    def gives_no_reason(self, comment: str) -> bool:
        """Return whether a comment is empty or to be ignored."""
        return not _words(comment).strip(" .") or comment.strip().lower().rstrip(".!") in self.ignored


@dataclass(frozen=True)
class ReasonCounts:
    """The number of comments in each group."""

    n_comments: int  # Without empty and ignored ones
    n_empty: int  # Empty and ignored ones
    counts: dict[str, int]  # Group to number of comments, in the order of the list
    titles: dict[str, str]  # Group to title
    uncoded: tuple[Comment, ...]  # Comments in no group


def code_comments(comments: Iterable[Comment], reasons: Reasons | None = None) -> ReasonCounts:
    """Return the number of `comments` in each group of `reasons`, by default the list of the package."""
    reasons = read_reasons() if reasons is None else reasons
    counts = {group.name: 0 for group in reasons.groups}
    n_comments = n_empty = 0
    uncoded = []
    for comment in comments:
        if reasons.gives_no_reason(comment.text):
            n_empty += 1
            continue
        n_comments += 1
        names = reasons.code(comment.text)
        for name in names:
            counts[name] += 1
        if not names:
            uncoded.append(comment)
    return ReasonCounts(
        n_comments, n_empty, counts, {group.name: group.title for group in reasons.groups}, tuple(uncoded)
    )


def read_reasons(path: Path | None = None) -> Reasons:
    """Return the groups in a YAML file, by default the one of the package.

    The file is a mapping: ``groups``, name to ``title`` (optional) and ``keywords`` (a list); and ``ignored``
    (optional), a list of whole comments.
    """
    path = _DEFAULT if path is None else path
    try:
        content = read_yaml(path)
    except OSError as error:
        raise InputError(f"cannot read the reasons file {path}: {error.strerror or error}") from error
    groups = content.get("groups") if isinstance(content, dict) else None
    if not isinstance(groups, dict) or not groups:
        raise InputError(f"{path} must have 'groups': the name of each with a list of 'keywords'")
    unknown = sorted(map(str, set(content) - {"groups", "ignored"}))
    if unknown:
        raise InputError(f"{path} may have the keys 'groups' and 'ignored', got '{unknown[0]}'")
    return Reasons(
        tuple(_group(path, str(name), group) for name, group in groups.items()),
        frozenset(
            text.strip().lower().rstrip(".!") for text in _strings(path, "ignored", content.get("ignored") or [])
        ),
    )


def _group(path: Path, name: str, group: object) -> ReasonGroup:
    if not isinstance(group, dict) or not group.get("keywords"):
        raise InputError(f"{path}: group '{name}' has no keywords")
    keywords = _strings(path, f"the keywords of '{name}'", group["keywords"])
    for keyword in keywords:
        if not re.search(r"[a-z0-9]", keyword.lower()):
            raise InputError(f"{path}: keywords must have a letter or digit, got '{keyword}' in group '{name}'")
    return ReasonGroup(name, str(group.get("title") or name), keywords)


def _strings(path: Path, name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise InputError(f"{path}: {name} must be a list of texts; put quotes around words such as no, yes and numbers")
    return tuple(value)


def _words(text: str) -> str:
    """Return a comment as words separated by single spaces, with full stops between its sentences."""
    lowered = re.sub(r"['\u2018\u2019`]", "", text.lower())
    return " ".join(re.findall(r"[a-z0-9]+|[.!?;\n]+", re.sub(r"[.!?;\n]+", " . ", lowered)))


def _pattern(keyword: str) -> str:
    parts = []
    for word in re.sub(r"['\u2018\u2019`]", "", keyword.lower()).split():
        if word == "..":
            parts.append(_BETWEEN)
        else:
            letters = " ".join(re.findall(r"[a-z0-9*]+", word)).replace("*", "[a-z0-9]*")
            parts.append(f" {letters}")
    return "(?<![^ ])" + "".join(parts).strip() + "(?![^ ])"
