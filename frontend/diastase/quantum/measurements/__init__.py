"""From measurement processes to equations on the final register."""
