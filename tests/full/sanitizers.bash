# Options of the sanitizers. Sourced in the root of the project. Suppressions name only libraries of drivers, which are
# not instrumented.
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
# For programs that use a device: its driver is unloaded before leaks are sought, so its leaks could not be told from
# others.
asan_with_driver=$ASAN_OPTIONS:detect_leaks=0
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=$PWD/tests/full/tsan.supp
