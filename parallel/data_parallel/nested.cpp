// The parts of nested scatter and gather that depend only on tensors.
#include "tandem/parallel/data_parallel/nested.h"

namespace tandem::parallel::detail {

std::vector<Tensors> cut(const char* operation, const Arguments& arguments, ArrayRef<Device> devices, int64_t dim) {
  const Tensor* first = nullptr;
  for (std::size_t k = 0; k < arguments.tensors.size(); ++k) {
    if (arguments.whole[k]) continue;
    const Tensor& t = arguments.tensors[k];
    if (first == nullptr) first = &t;
    check(t.size(dim) == first->size(dim), operation, ": tensors differ in size along dimension ", dim,
          ", along which they are split\n  ", *first, "\n  ", t,
          "\n  wrap a tensor that every replica needs whole in parallel::whole(tensor)");
  }
  const std::vector<int64_t> sizes =
      first == nullptr ? std::vector<int64_t>{0} : chunk_sizes(first->size(dim), devices.size());
  std::vector<Tensors> out(sizes.size());
  for (std::size_t k = 0; k < arguments.tensors.size(); ++k) {
    const Tensor& t = arguments.tensors[k];
    int64_t start = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool all = arguments.whole[k] || sizes.size() == 1;
      out[i].push_back((all ? t : t.narrow(dim, start, sizes[i])).to(devices[i], /*non_blocking=*/true));
      start += sizes[i];
    }
  }
  return out;
}

Tensor join(const Tensors& pieces, Device device, int64_t dim) {
  for (const Tensor& piece : pieces)
    check(piece.defined() == pieces[0].defined(), "gather: some replicas returned an undefined tensor, others did not");
  if (!pieces[0].defined()) return {};
  return gather(pieces, device, pieces[0].dim() == 0 ? 0 : dim);
}

void cannot_gather(const std::type_info& type, const char* why) {
  fail("gather: the replicas returned values of type ", nn::detail::type_name(type), " ", why);
}

}  // namespace tandem::parallel::detail
