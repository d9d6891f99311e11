"""Compare files of generated text with real text, and log the results to TensorBoard.

    python examples/log_to_tensorboard.py runs/textassay real.txt lstm.txt trigram.txt --metrics dd length

writes an event file into runs/textassay. Needs: pip install tensorboardX
"""

import argparse
import json
from pathlib import Path

from tensorboardX import SummaryWriter

import textassay as ta


def main() -> None:
    """Compare, log."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="of the run")
    parser.add_argument("real", help="one text per line")
    parser.add_argument("generated", nargs="+", help="one text per line")
    parser.add_argument("--metrics", nargs="+", help="by default those of `compare`")
    arguments = parser.parse_args()
    generated = {Path(file).stem: file for file in arguments.generated}
    results = ta.compare(generated, arguments.real, metrics=arguments.metrics).to_dict()
    with SummaryWriter(arguments.folder) as writer:
        for row in results["results"]:
            for name in ("value", "low", "high"):
                if row.get(name) is not None:
                    writer.add_scalar(f"{row['metric']}/{row['generator']}.{name}", row[name])
        writer.add_text("textassay", f"```json\n{json.dumps(results, indent=1)}\n```")


if __name__ == "__main__":
    main()
