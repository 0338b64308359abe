// The library's tables of decompositions and Fourier transforms:
// each kernel loads libtandem_eigen.so and calls the one there.
#include <atomic>
#include <type_traits>

#include "tandem/core/cpu/linalg/eigen_plugin.h"
#include "tandem/core/cpu/plugin_files.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
namespace {

// Threads that race to load the plugin load the same one, without a lock that a forked child could find taken.
const EigenPlugin& plugin() {
  static constinit std::atomic<const EigenPlugin*> loaded{nullptr};
  const EigenPlugin* known = loaded.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  const PluginFile file = find_plugin("eigen");
  check(!file.path.empty(), "decompositions of matrices and Fourier transforms: ", file.missing,
        "; build all of Tandem (./run build, or ninja without a target), and install the library and its "
        "plugins together");
  known = static_cast<const EigenPlugin*>(open_plugin(file.path, "tandem_eigen_plugin"));
  loaded.store(known, std::memory_order_release);
  return *known;
}

template <class Table>
const Table& table() {
  if constexpr (std::is_same_v<Table, FftKernels>)
    return *plugin().fft;
  else
    return *plugin().decomposition;
}

// A function that calls the kernel which this member holds in the plugin.
template <class Table, auto kernel, class... Args>
constexpr auto forward(const KernelFunction<void(Args...)>*) {
  return +[](Args... args) { (table<Table>().*kernel).function()(static_cast<Args&&>(args)...); };
}
template <auto kernel, class Table, class Member>
constexpr auto forward_to(Member Table::*) {
  return forward<Table, kernel>(static_cast<const Member*>(nullptr));
}
template <auto kernel>
constexpr auto in_plugin = forward_to<kernel>(kernel);

}  // namespace

using Decomposition = DecompositionKernels;
constinit const DecompositionKernels decomposition_kernels{
    .lu_factor = in_plugin<&Decomposition::lu_factor>,
    .cholesky = in_plugin<&Decomposition::cholesky>,
    .geqrf = in_plugin<&Decomposition::geqrf>,
    .householder_product = in_plugin<&Decomposition::householder_product>,
    .eigh = in_plugin<&Decomposition::eigh>,
    .eig = in_plugin<&Decomposition::eig>,
    .svd = in_plugin<&Decomposition::svd>,
    .ldl_factor = in_plugin<&Decomposition::ldl_factor>,
    .ldl_solve = in_plugin<&Decomposition::ldl_solve>,
    .solve_triangular = in_plugin<&Decomposition::solve_triangular>,
};

constinit const FftKernels fft_kernels{
    .c2c = in_plugin<&FftKernels::c2c>,
    .r2c = in_plugin<&FftKernels::r2c>,
    .c2r = in_plugin<&FftKernels::c2r>,
};

}  // namespace tandem::cpu
