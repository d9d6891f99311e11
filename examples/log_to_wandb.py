"""Compare files of generated text with real text, and log the results to a run of Weights & Biases.

    python examples/log_to_wandb.py real.txt lstm.txt trigram.txt --metrics dd length

logs to the project that WANDB_PROJECT names, or, with WANDB_MODE=offline, to a folder. Needs: pip install wandb
"""

import argparse
from pathlib import Path

import wandb

import textassay as ta


def main() -> None:
    """Compare, log."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real", help="one text per line")
    parser.add_argument("generated", nargs="+", help="one text per line")
    parser.add_argument("--metrics", nargs="+", help="by default those of `compare`")
    arguments = parser.parse_args()
    generated = {Path(file).stem: file for file in arguments.generated}
    results = ta.compare(generated, arguments.real, metrics=arguments.metrics).to_dict()
    with wandb.init(job_type="textassay", config={"textassay": results["settings"]}) as run:
        for row in results["results"]:
            key = f"{row['metric']}/{row['generator']}"
            run.summary.update({f"{key}.{name}": row.get(name) for name in ("value", "low", "high", "signature")})
        columns = ["metric", "generator", "value", "low", "high", "signature"]
        run.log(
            {"textassay": wandb.Table(columns, [[row.get(name) for name in columns] for row in results["results"]])}
        )


if __name__ == "__main__":
    main()
