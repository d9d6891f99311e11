"""Several processes that train one network together (under construction)."""

from dataclasses import dataclass

__all__ = ["Processes", "launched"]


@dataclass(frozen=True)
class Processes:
    """The processes that share a training: this one's number, and how many there are."""

    rank: int = 0
    count: int = 1

    @property
    def is_main(self) -> bool:
        """Whether this process writes files, shows progress and calls monitors."""
        return self.rank == 0


def launched() -> Processes | None:
    """Return the processes that a launcher (``accelerate launch``, ``torchrun``) started; None without one."""
    return None
