"""Global random state: seeded inside a block, restored after it."""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def own_random_state(seed: int) -> Iterator[None]:
    """Seed the random generators of Python, NumPy and PyTorch (if loaded); restore them afterwards."""
    of_python, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    torch = sys.modules.get("torch")
    devices = None
    if torch is not None:
        of_cpu = torch.get_rng_state()
        devices = torch.cuda if torch.cuda.is_available() and torch.cuda.is_initialized() else None
        of_devices = devices.get_rng_state_all() if devices else []
    try:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        if torch is not None:
            torch.manual_seed(seed)
        yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)  # noqa: NPY002
        if torch is not None:
            torch.set_rng_state(of_cpu)
            if devices:
                devices.set_rng_state_all(of_devices)
