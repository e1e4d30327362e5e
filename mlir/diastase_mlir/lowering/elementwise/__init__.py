"""Operations of StableHLO on elements, one by one, and what rules emit of them."""
