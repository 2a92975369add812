"""How good is g for a given model: the benchmark of plug-in, hybrid and regressed risks."""
