"""Schedule (pure), then execution, recording each sample at once."""
