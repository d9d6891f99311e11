"""What metrics over sentence vectors have in common: their encoder, and how it shows."""

from textassay.embedding import Encoder, resolve_encoder


class OfVectors:
    """Base of metrics with a field `encoder`."""

    encoder: str | Encoder

    @property
    def encoder_name(self) -> str:
        """What tells the encoder from every other."""
        return resolve_encoder(self.encoder).name

    @property
    def reads_columns(self) -> bool:
        """Whether the vectors were made elsewhere and come with the corpus."""
        return resolve_encoder(self.encoder).reads_columns

    def named(self, metric: str, *settings: str) -> str:
        """Return the name of `metric` with its `settings`, and with the encoder where it is not the default one."""
        shown = [*settings, *([f"encoder={self.encoder_name}"] if self.encoder_name != "lsa" else [])]
        return f"{metric}({','.join(shown)})" if shown else metric
