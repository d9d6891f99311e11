"""Base of metrics over sentence vectors: their encoder, and its part in their name."""

from textassay.embedding import DEFAULT_ENCODER, Encoder, resolve_encoder


class OfVectors:
    """Base of metrics with a field `encoder`."""

    encoder: str | Encoder

    @property
    def encoder_name(self) -> str:
        """Unique name of the encoder."""
        return resolve_encoder(self.encoder).name

    @property
    def reads_columns(self) -> bool:
        """Whether the vectors come with the corpus."""
        return resolve_encoder(self.encoder).reads_columns

    def named(self, metric: str, *settings: str) -> str:
        """Return the name of `metric` with its `settings`, and with the encoder where it is not the default one."""
        parts = [*settings, *([f"encoder={self.encoder_name}"] if self.encoder_name != DEFAULT_ENCODER else [])]
        return f"{metric}({','.join(parts)})" if parts else metric
