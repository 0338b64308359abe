// TANDEM_HD marks functions that both the host and the device compiler instantiate.
#pragma once
#ifdef __CUDACC__
#define TANDEM_HD __host__ __device__
#else
#define TANDEM_HD
#endif
