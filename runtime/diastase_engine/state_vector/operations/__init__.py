"""Operations of the queue: what they are, when two are one, which commute."""
