"""Finding what is wrong with a pass: which rewrite did it, in the smallest program that shows it."""
