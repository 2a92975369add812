"""Classification on CIFAR-10: the paper's study of conditional risk and learning to defer."""
