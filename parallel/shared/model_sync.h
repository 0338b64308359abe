// Makes the models of all processes equal.
#pragma once
#include <exception>
#include <string>
#include <vector>

#include "tandem/nn/module.h"
#include "tandem/parallel/distributed/process_group.h"

namespace tandem::distributed {

/// Compares names, shapes, dtypes and frozenness of parameters and buffers with rank 0's. Every rank calls it.
/// Throws DistributedError on all ranks if one differs, naming that rank and the first difference.
void compare_models(ProcessGroup& group, const nn::Module& module, const char* caller);

/// Returns the rows of all ranks, [P·n, …]. `row` [n, …] and the result are on the CPU with every backend.
Tensor gather_rows(ProcessGroup& group, const Tensor& row);

/// Every rank's text, in the order of the ranks; of longer ones the first MB.
std::vector<std::string> exchange_texts(ProcessGroup& group, const std::string& text);

/// Returns f(). If it throws, the other processes, which do not know of it, fail, too, instead of waiting for this one.
template <class F>
auto or_abort(ProcessGroup& group, const F& f) {
  try {
    return f();
  } catch (...) {
    abort_with(group, std::current_exception(), "an exception");
    throw;
  }
}

/// Tensors packed into flat buffers on `device`. A buffer has one dtype and about `bytes`, or one larger tensor.
class Coalesced {
 public:
  Coalesced(const std::vector<Tensor>& tensors, int64_t bytes, Device device);
  /// Copies the tensors' values into the buffers.
  void pack();
  /// Copies the buffers' values into the tensors.
  void unpack() const;
  /// [n] each; uninitialized before pack().
  const std::vector<Tensor>& buffers() const { return buffers_; }

 private:
  /// Calls copy(part, t) for every tensor t and its part of a buffer.
  template <class Copy>
  void for_parts(const Copy& copy) const;

  std::vector<std::vector<Tensor>> parts_;
  std::vector<Tensor> buffers_;
};

/// Overwrites the tensors, on any device, with rank `root`'s, in broadcasts of about `bytes` of one dtype.
void broadcast_from(ProcessGroup& group, const std::vector<Tensor>& tensors, int root, int64_t bytes = 25 << 20);

}  // namespace tandem::distributed
