"""Rules for circuits: registers, gates, measurements, sampling."""
