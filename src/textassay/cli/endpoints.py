"""What commands say and do where a generator is a model of an endpoint."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textassay.cli.messages import print_line

if TYPE_CHECKING:
    from textassay.generator import EndpointModel


def say_requests(
    models: Mapping[str, str],
    n_real: int,
    budget: str | None,
    *,
    quiet: bool,
    metrics: Sequence[str] | None = None,
    out: Path | None = None,
) -> None:
    """Say what drawing from endpoints will take, before anything is asked of them; `metrics`: None where dd is one."""
    from textassay.endpoints import names_endpoint

    if quiet or not any(map(names_endpoint, models.values())):
        return
    from textassay.comparison import draw_limit, request_costs
    from textassay.report import requests_line

    for draw in request_costs(models, n_real, draw_limit(budget, n_real, metrics), out).values():
        print_line(requests_line(draw))


def open_endpoint(name: str, out: Path | None, asked: Mapping[str, float]) -> "EndpointModel":
    """Return the model with the settings asked for, its answers kept beside the file `out`."""
    from textassay.endpoints import settings_of
    from textassay.generator import EndpointModel, EndpointSettings

    settings = settings_of(EndpointSettings, name)
    folder = None if out is None else out.parent / f"{out.name}.answers"
    return EndpointModel(settings, folder=folder).changed(**asked)


def draw_answers(model: "EndpointModel", n: int, *, seed: int, quiet: bool) -> None:
    """Draw the first `n` answers, which the model keeps; say before and after what they take."""
    from textassay.comparison import DrawCost
    from textassay.report import requests_line

    kept = model.kept(seed)
    n_missing = n - kept.n_of(n)
    if not quiet and n_missing:
        requests = model.estimate(n, n - n_missing)
        print_line(requests_line(DrawCost(model.settings.place, n_missing, n_missing, None, requests=requests)))
    answers = model.answers(n, seed=seed)
    for words in model.warnings(answers):
        print_line(f"warning: {words}")
    if not quiet:
        print_line(model.note(answers))


def answer_rows(model: "EndpointModel", n: int, seed: int) -> list[dict[str, str | None]]:
    """Return what a file of JSON lines says of the first `n` answers, of those that are there without a gap."""
    answers = model.kept(seed).first(n)
    prompts = [{"prompt": model.prompt_of(number)} if model.has_prompts else {} for number in range(len(answers))]
    return [
        {**prompt, "text": answer.text, "finish_reason": answer.finish}
        for prompt, answer in zip(prompts, answers, strict=True)
    ]
