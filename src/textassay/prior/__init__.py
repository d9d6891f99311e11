"""What is known of a language beside the texts: counts of English words, and a pretrained language model."""
