"""Scripts that build what the repository keeps: data, figures and tables."""
