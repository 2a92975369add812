"""Mutation testing by cosmic-ray: a sample of its mutants, and which test notices each.

    python -m tools.mutation                      the sample of tools/mutation.toml (`make mutants`)
    python -m tools.mutation --survivors          those that survived the last time
    python -m tools.mutation --only src/condrisk/inference
    python -m tools.mutation --list               what would be run, no more

cosmic-ray says which mutants there are, and makes them (`sample`). Its own runner would run all
tests for each of them; here a mutant meets the tests that execute its line (`covering`), in a
process that is forked from one that has imported numpy, scikit-learn and polars already (`forked`).
Nothing in the working tree is touched: `src` is copied, and changed there.

What is found is merged into results/mutation.json. A mutant is known by what it is, its file, line
and operator before and after, not by its number: code that changes elsewhere leaves it as it is.
"""
