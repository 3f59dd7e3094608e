"""weft-lint: finds functions that may use another thread's thread_local, or errno, after a call that parks."""
