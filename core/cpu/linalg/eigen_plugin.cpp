// The symbol that the library looks up in libtandem_eigen.so. Only the plugin has this source.
#include "tandem/core/cpu/linalg/eigen_plugin.h"

#include "tandem/core/cpu/kernel_plugin.h"
#include "tandem/core/cpu/tables.h"

extern "C" [[gnu::visibility("default")]] constinit const tandem::cpu::EigenPlugin tandem_eigen_plugin{
    tandem::cpu::kTableLayout, &tandem::cpu::decomposition_kernels, &tandem::cpu::fft_kernels};
