"""What verdicts and texts come to: precision and shares, scores of earlier programs, similarity."""
