"""What commands say and do where a generator is a model of an endpoint."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textassay.cli.messages import print_line

if TYPE_CHECKING:
    from textassay.source.endpoint import EndpointModel, Requests


def print_requests(models: Mapping[str, str], n: int, *, quiet: bool) -> None:
    """Say what drawing `n` texts from each endpoint takes, before anything is asked of them."""
    from textassay.endpoints import names_endpoint

    endpoints = {name: source for name, source in models.items() if names_endpoint(source)}
    if quiet or not endpoints:
        return
    from textassay.comparison.sources import open_source
    from textassay.source.endpoint import endpoint_model

    for name, source in endpoints.items():
        model = endpoint_model(open_source(source))
        if model is not None:
            print_line(requests_line(name, model.estimate(n)))


def print_answers(
    models: Mapping[str, str], prompts: Sequence[str] | None, *, seed: int, quiet: bool, out: Path | None
) -> dict[str, str]:
    """Say what it takes to let endpoints answer the prompts of the real text; return the models that do not."""
    from textassay.comparison.drawing import asked_endpoints

    asked = asked_endpoints(models, prompts, out)
    for name, (model, n) in asked.items():
        n_missing = n - model.kept(seed).n_of(n)
        if n_missing and not quiet:
            print_line(requests_line(name, model.estimate(n, n - n_missing)))
    return {name: source for name, source in models.items() if name not in asked}


def requests_line(name: str, requests: "Requests") -> str:
    """Return how many requests and tokens, and what money, drawing from an endpoint takes."""
    from textassay.report.text import count, counted

    each = f"about {requests.prompt_tokens / max(1, requests.requests):.0f} prompt tokens each"
    if requests.completion_tokens is None:
        most = "answers of any length, since max_tokens is not set"
    else:
        most = f"at most {count(requests.completion_tokens)} tokens of answers"
    tokens = f"{count(requests.prompt_tokens)} together, and {most}"
    price = "" if requests.price is None else f"; {requests.price:.4g} at most, at the given prices"
    asked = counted(requests.requests, "request")
    return f"{name}: {asked}, {each}, {tokens}{price}; stored answers are not requested again"


def open_endpoint(name: str, out: Path | None, asked: Mapping[str, float]) -> "EndpointModel":
    """Return the model with the settings asked for, its answers kept beside the file `out`."""
    from textassay.endpoints import settings_of
    from textassay.source.endpoint import EndpointModel, EndpointSettings

    settings = settings_of(EndpointSettings, name)
    folder = None if out is None else out.parent / f"{out.name}.answers"
    return EndpointModel(settings, folder=folder).changed(**asked)


def draw_answers(model: "EndpointModel", n: int, *, seed: int, quiet: bool) -> None:
    """Draw the first `n` answers, which the model keeps; say before and after what they take."""
    kept = model.kept(seed)
    n_missing = n - kept.n_of(n)
    if not quiet and n_missing:
        print_line(requests_line(model.settings.place, model.estimate(n, n - n_missing)))
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
