"""Endpoints that answer the prompts of the real text, as often as these have real answers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textassay.comparison.kept_draws import DRAWS
from textassay.comparison.measure import Progress
from textassay.comparison.sources import is_endpoint
from textassay.corpus.texts import TextFile, as_texts
from textassay.errors import InputError

if TYPE_CHECKING:
    from textassay.source.endpoint import EndpointModel


def asked_endpoints(
    generated: Mapping[str, Any], prompts: Sequence[str] | None, out: Path | str | None
) -> "dict[str, tuple[EndpointModel, int]]":
    """Return the endpoints without a prompt of their own, as models that answer `prompts`, and how many answers.

    `prompts`: those of the real texts, one each; None: none are asked.
    """
    names = [name for name, source in generated.items() if is_endpoint(source)]
    if prompts is None or not names:
        return {}
    from textassay.endpoints import settings_of
    from textassay.source.endpoint import EndpointModel, EndpointSettings

    distinct = tuple(dict.fromkeys(prompts))
    n_each = max(1, round(len(prompts) / len(distinct)))
    folder = None if out is None else Path(out) / DRAWS
    asked = {}
    for name in names:
        source = generated[name]
        settings = settings_of(EndpointSettings, source) if isinstance(source, str) else source.model.settings
        if settings.prompt is None and settings.prompts is None:
            model = EndpointModel(replace(settings, prompts=distinct), folder=folder)
            asked[name] = model, n_each * len(distinct)
    return asked


def answered(
    endpoints: "Mapping[str, tuple[EndpointModel, int]]", *, seed: int, progress: Progress | None
) -> tuple[dict[str, TextFile], list[str]]:
    """Return the answers of each endpoint with their prompts, and what is to be known of them."""
    files, told = {}, []
    for name, (model, n) in endpoints.items():
        answers: list[Any] = []
        try:
            for part in model.draw(0, n, seed=seed):
                answers += part
                if progress is not None:
                    progress(f"answers of {name}", len(answers), n)
        except InputError as error:
            lost = "" if model.folder is not None else "; with --out they are kept, and the same command goes on"
            raise type(error)(f"{name}: {error}{lost}") from None
        prompts = [model.prompt_of(number) for number in range(n)]
        files[name] = TextFile(name, [answer.text for answer in answers], prompts=prompts)
        told += [f"{name}: {words}" for words in (*model.warnings(answers), model.note(answers))]
    return files, told


def split_prompts(prompts: Any, real: TextFile, generated: Mapping[str, Any]) -> tuple[TextFile, Any]:
    """Return the real text with its prompts, and what prompts are given beside the others that are not endpoints."""
    if prompts is None or not any(map(is_endpoint, generated.values())):
        return real, prompts
    if isinstance(prompts, Mapping):
        others = {name: value for name, value in prompts.items() if name not in ("real", "(real)")}
        own = prompts.get("real", prompts.get("(real)"))
    else:
        own = list(as_texts(prompts, "prompts").texts)
        others = {name: own for name, source in generated.items() if not is_endpoint(source)}
    return (real if own is None else replace(real, prompts=as_texts(own, "prompts of real").texts)), others or None
