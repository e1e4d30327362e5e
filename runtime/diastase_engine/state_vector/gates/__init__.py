"""Gates, by name and by arrays, as operations of the queue."""
