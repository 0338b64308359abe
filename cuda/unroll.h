// Loops that nvcc must or must not unroll: arrays stay in registers only if every index is a compile-time
// constant.
#pragma once
#ifdef __CUDA_ARCH__
#define TANDEM_UNROLL _Pragma("unroll")
#define TANDEM_NO_UNROLL _Pragma("unroll 1")
#else
#define TANDEM_UNROLL
#define TANDEM_NO_UNROLL
#endif
