// SPDX-License-Identifier: Apache-2.0
// Marks a loop that the compiler shall make twice: for processors with AVX2 and for all others.
// Which of them runs is settled when the program starts. Both give the same results: nothing but
// the number of lanes differs, as multiplications and additions are never fused (-ffp-contract).
#pragma once

#include <cstdint>  // tells __GLIBC__

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__OPTIMIZE__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define BERTH_VECTOR_CODE __attribute__((target_clones("avx2", "default")))
#else
#define BERTH_VECTOR_CODE
#endif
