"""Passes of the frontend's: of measurements, of operators being recorded, of a traced body."""
