// Tables that are being written.
#include "tandem/cuda/tables.h"

namespace tandem::cuda {
namespace {
struct Missing {
  template <class R, class... Args>
  constexpr operator Kernel<R(Args...)>() const {
    return +[](Args...) -> R { throw NotImplementedError("not on CUDA yet"); };
  }
  }
};
constexpr Missing no;
}  // namespace
}  // namespace tandem::cuda
