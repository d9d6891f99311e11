"""The study of exposure bias."""
