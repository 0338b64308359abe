// The symbol that the library looks up in a plugin. Only plugins have this source.
#include "tandem/core/cpu/kernel_plugin.h"

#include "tandem/core/cpu/tables.h"

extern "C" [[gnu::visibility("default")]] constinit const tandem::cpu::KernelPlugin tandem_kernel_plugin{
    tandem::cpu::kTableLayout, &tandem::cpu::kernels};
