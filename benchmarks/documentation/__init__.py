"""Programs in documents, run with Catalyst and here: what runs, and what results differ."""
