"""Operations applied to amplitudes: all of them, or a tile that stays in registers."""
