"""Error mitigation: `mitigate_with_zne`."""
