"""The C library's threads, as the pool uses them."""

import signal

from diastase_engine.language import code, external, f64, i32, i64, ptr

create_thread = external("pthread_create", [ptr[i64], ptr[i64], code, ptr[f64]], i32)
detach_thread = external("pthread_detach", [i64], i32)
make_mutex = external("pthread_mutex_init", [ptr[i64], ptr[i64]], i32)
lock = external("pthread_mutex_lock", [ptr[i64]], i32)
unlock = external("pthread_mutex_unlock", [ptr[i64]], i32)
make_condition = external("pthread_cond_init", [ptr[i64], ptr[i64]], i32)
wait_for = external("pthread_cond_wait", [ptr[i64], ptr[i64]], i32)
wait_until = external("pthread_cond_timedwait", [ptr[i64], ptr[i64], ptr[i64]], i32)
read_clock = external("clock_gettime", [i32, ptr[i64]], i32)
wake_one = external("pthread_cond_signal", [ptr[i64]], i32)
fill_signals = external("sigfillset", [ptr[i64]], i32)
mask_signals = external("pthread_sigmask", [i32, ptr[i64], ptr[i64]], i32)
process_number = external("getpid", [], i32)

SET_MASK = int(signal.SIG_SETMASK)
SIGNAL_WORDS = 16
"""A `sigset_t` has 128 bytes on Linux, fewer elsewhere."""
