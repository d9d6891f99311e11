"""What generated text carries over from the text that its generator learnt from."""
