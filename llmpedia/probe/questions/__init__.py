"""From two documents to a checked question: relations, subgraphs, wording, leakage, checks."""
