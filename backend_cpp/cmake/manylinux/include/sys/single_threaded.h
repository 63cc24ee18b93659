// In place of the header that glibc has since 2.32; older_glibc.cc has the variable.
#pragma once

extern "C" char __libc_single_threaded;
