"""Public names, imported when they are first used; diastase under the name of Catalyst."""
