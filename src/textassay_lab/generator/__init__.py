"""Language models: what declares them, what computes, saving and opening them."""
