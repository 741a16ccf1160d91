//! What really happened: evidence from git and checks, and the judge.
