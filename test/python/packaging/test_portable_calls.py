"""The runtime calls of the C library only what macOS has too, outside of its files for one platform.

`make cross-check` compiles for macOS, which takes ten minutes and a compiler that the other tests do not need. A call
that macOS lacks shows as an undefined symbol of what is built here. POSIX alone says too little: `sigtimedwait` is of
POSIX, and macOS has none.
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import xir.runtime._native

LIBRARY = Path(xir.runtime._native.__file__).parents[1] / "lib" / "libxir_runtime.a"
RUNNER = Path(sys.prefix) / "bin" / "xnn_executor_runner"
PLATFORM = re.compile(r"platform|linux|apple")
"""In the names of objects made of src/platform, compiled one by one or as one."""

ON_MACOS = frozenset(
    """
    access acos acosf acosh acoshf asin asinf asinh asinhf atan atan2 atan2f atanf atanh atanhf cbrtf clock_gettime
    close cos cosf cosh coshf dlerror dlopen dlsym dup dup2 erf erff exp exp2 exp2f expf expm1 expm1f fclose fcntl
    fdopen ferror fflush floor floorf fmaxf fminf fmod fmodf fopen fprintf fputs fread free fstat futimens fwrite getenv
    getpid ioctl ldexp log log10 log10f log1p log1pf log2 log2f logf madvise malloc memchr memcmp memcpy memmove memset
    mkdir mmap munmap nearbyint nearbyintf open posix_memalign pow powf printf pthread_cond_timedwait pthread_mutex_lock
    pthread_mutex_unlock pthread_self pthread_sigmask putchar pwrite read remove rename sigaddset sigemptyset
    sigismember sigpending sigwait sin sinf sinh sinhf snprintf sqrt sqrtf strcmp strerror strlen strncmp strtod strtol
    strtoul strtoull sysconf tan tanf tanh tanhf trunc truncf uname unlink write
    """.split()
)
"""Functions in `lib/libc/darwin/libSystem.tbd` of the package ziglang 0.17.1, a list of all that macOS' C library has.
Before a name is added here, look it up there, or in Apple's manual pages."""

OF_THE_COMPILER = frozenset(
    """
    _GLOBAL_OFFSET_TABLE_ _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable _Unwind_Resume __cpu_indicator_init
    __cpu_model __cxa_allocate_exception __cxa_atexit __cxa_begin_catch __cxa_end_catch __cxa_finalize __cxa_guard_abort
    __cxa_guard_acquire __cxa_guard_release __cxa_rethrow __cxa_thread_atexit __cxa_throw __dso_handle __dynamic_cast
    __errno_location __gmon_start__ __gxx_personality_v0 __libc_single_threaded __libc_start_main __tls_get_addr
    """.split()
)
"""What GCC, Clang and glibc put in place of C++ (exceptions, statics, casts), `errno` and `__builtin_cpu_supports`."""


def undefined(path: Path, *flags: str) -> dict[str, set[str]]:
    """The undefined C symbols of each object in an archive, or of the one program."""
    listed = subprocess.run(["nm", "-u", *flags, path], capture_output=True, text=True, check=True).stdout
    found, member = defaultdict[str, set[str]](set), path.name
    for line in listed.splitlines():
        if line.endswith(".o:"):
            member = line
        elif line.strip():
            found[member].add(called(line.split()[-1]))
    return {
        member: {name for name in names if not name.startswith(("_Z", "xnn_", "xir_"))}
        for member, names in found.items()
    }


def called(symbol: str) -> str:
    """The function of a symbol: without glibc's version, its checks of sizes, and its C standard."""
    name = symbol.partition("@")[0]
    return re.sub(r"^__isoc\d+_|^__(?=\w+_chk$)|_chk$|(?<=fstat|ftell|seeko|fopen|pread)64$|(?<=write)64$", "", name)


def others(names: set[str]) -> list[str]:
    """Names that macOS lacks."""
    return sorted(names - ON_MACOS - OF_THE_COMPILER)


def test_only_the_platforms_files_call_what_macos_lacks() -> None:
    objects = undefined(LIBRARY)
    platform = set[str]().union(*(names for member, names in objects.items() if PLATFORM.search(member)))
    common = set[str]().union(*(names for member, names in objects.items() if not PLATFORM.search(member)))
    runner = undefined(RUNNER, "-D")[RUNNER.name]
    # Otherwise the objects have other names, or nm prints something else.
    assert "sched_getaffinity" in platform & runner
    assert "mmap" in common & runner
    assert not others(common)
    assert not others(runner - platform)


def test_such_a_call_is_found(tmp_path: Path) -> None:
    source = tmp_path / "waits.c"
    source.write_text(
        "#define _GNU_SOURCE\n#include <signal.h>\n#include <string.h>\n"
        'int waits(const sigset_t* set) { return strlen("") + sigtimedwait(set, 0, 0); }\n',
        encoding="utf-8",
    )
    subprocess.run(["cc", "-c", source, "-o", tmp_path / "waits.o"], check=True)
    assert others(undefined(tmp_path / "waits.o")["waits.o"]) == ["sigtimedwait"]
