// TANDEM_HD marks inline functions that both the host and the device compiler instantiate. The host always
// inlines them, because a loop is vectorised only if it contains no call.
#pragma once
#ifdef __CUDACC__
#define TANDEM_HD __host__ __device__
#else
#define TANDEM_HD __attribute__((always_inline))
#endif
