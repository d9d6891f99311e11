"""Compare files of generated text with real text, and log the results to a run of MLflow.

    python examples/log_to_mlflow.py real.txt lstm.txt trigram.txt --metrics dd length

logs to the server and experiment that MLflow's own settings name. Needs: pip install mlflow
"""

import argparse
import re
from pathlib import Path

import mlflow

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
    with mlflow.start_run(run_name="textassay"):
        for row in results["results"]:
            key = re.sub(r"[^\w/.-]+", "-", f"{row['metric']}/{row['generator']}")  # MLflow takes no brackets
            numbers = {f"{key}.{name}": row.get(name) for name in ("value", "low", "high")}
            mlflow.log_metrics({name: number for name, number in numbers.items() if number is not None})
            mlflow.log_param(f"{key}.signature", row.get("signature"))
        mlflow.log_dict(results, "textassay.json")


if __name__ == "__main__":
    main()
