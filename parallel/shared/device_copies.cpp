// Copies use Tensor::to, pieces narrow, flat buffers cat and narrow, so gradients need no extra code.
#include "tandem/parallel/shared/device_copies.h"

#include <algorithm>
#include <map>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/memory_format.h"

namespace tandem::parallel {

std::vector<Device> checked_devices(const char* operation, ArrayRef<Device> devices) {
  check(devices.size() != 0, operation, ": no devices given");
  std::vector<Device> out;
  for (const Device& device : devices) {
    const Device resolved = resolve(device);
    check(std::find(out.begin(), out.end(), resolved) == out.end(), operation, ": device ", resolved, " appears twice");
    out.push_back(resolved);
  }
  return out;
}

namespace {

void check_defined(const char* operation, TensorList tensors) {
  for (std::size_t k = 0; k < tensors.size(); ++k)
    check(tensors[k].defined(), operation, ": tensor ", k, " of ", tensors.size(), " is undefined");
}

}  // namespace

std::vector<int64_t> chunk_sizes(int64_t size, std::size_t parts) {
  check(parts > 0, "chunk_sizes: parts must be positive");
  if (size == 0) return {0};
  const auto n = static_cast<int64_t>(parts);
  const int64_t piece = (size + n - 1) / n;
  std::vector<int64_t> out;
  for (int64_t done = 0; done < size; done += piece) out.push_back(std::min(piece, size - done));
  return out;
}

std::vector<int64_t> balanced_sizes(int64_t size, std::size_t parts) {
  check(parts > 0, "balanced_sizes: parts must be positive");
  if (size == 0) return {0};
  const auto n = static_cast<int64_t>(parts);
  std::vector<int64_t> out;
  for (int64_t i = 0; i < std::min(n, size); ++i) out.push_back(size / n + (i < size % n ? 1 : 0));
  return out;
}

Tensors scatter(const Tensor& tensor, ArrayRef<Device> devices, int64_t dim) {
  check(tensor.defined(), "scatter: the tensor is undefined");
  check(tensor.dim() > 0, "scatter: expected at least 1 dimension, got ", tensor);
  const std::vector<int64_t> sizes = chunk_sizes(tensor.size(dim), std::max<std::size_t>(1, devices.size()));
  std::vector<Device> used = checked_devices("scatter", devices);
  used.resize(std::min(used.size(), sizes.size()));
  return scatter(tensor, used, sizes, dim);
}

Tensors scatter(const Tensor& tensor, ArrayRef<Device> devices, IntArrayRef sizes, int64_t dim) {
  check(tensor.defined(), "scatter: the tensor is undefined");
  const std::vector<Device> to = checked_devices("scatter", devices);
  check(sizes.size() == to.size(), "scatter: ", sizes.size(), " sizes for ", to.size(), " devices");
  check(tensor.dim() > 0, "scatter: expected at least 1 dimension, got ", tensor);
  int64_t total = 0;
  for (const int64_t size : sizes) {
    check(size >= 0, "scatter: sizes must not be negative, got ", sizes);
    total += size;
  }
  check(total == tensor.size(dim), "scatter: sizes ", sizes, " sum to ", total, ", but dimension ", dim, " of ", tensor,
        " has ", tensor.size(dim));
  Tensors out;
  int64_t start = 0;
  for (std::size_t i = 0; i < to.size(); ++i) {
    out.push_back(tensor.narrow(dim, start, sizes[i]).to(to[i], /*non_blocking=*/true));
    start += sizes[i];
  }
  return out;
}

Tensor gather(TensorList pieces, Device device, int64_t dim) {
  check(pieces.size() != 0, "gather: no tensors given");
  check_defined("gather", pieces);
  device = resolve(device);
  Tensors here;
  for (const Tensor& piece : pieces) {
    check(piece.dtype() == pieces[0].dtype(), "gather: pieces differ in dtype\n  first ", pieces[0], "\n  other ",
          piece);
    const Tensor one = piece.dim() == 0 ? piece.unsqueeze(0) : piece;
    here.push_back(one.to(device, /*non_blocking=*/true));
  }
  return here.size() == 1 ? here[0] : cat(here, dim);
}

Tensors broadcast(const Tensor& tensor, ArrayRef<Device> devices) {
  check(tensor.defined(), "broadcast: the tensor is undefined");
  Tensors out;
  for (const Device& device : checked_devices("broadcast", devices))
    out.push_back(tensor.to(device, /*non_blocking=*/true));
  return out;
}

namespace {

// Indices of the tensors grouped by dtype and device; each group can share a buffer.
std::vector<std::vector<std::size_t>> groups_of(TensorList tensors) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const auto alike = [&](const std::vector<std::size_t>& group) {
      const Tensor& first = tensors[group[0]];
      return first.dtype() == tensors[k].dtype() && first.device() == tensors[k].device();
    };
    const auto found = std::find_if(groups.begin(), groups.end(), alike);
    if (found == groups.end())
      groups.push_back({k});
    else
      found->push_back(k);
  }
  return groups;
}

Tensor flatten_together(TensorList tensors, TensorList like, const std::vector<std::size_t>& group) {
  Tensors parts;
  for (const std::size_t k : group) parts.push_back(flattened_like(tensors[k], like[k]));
  return parts.size() == 1 ? parts[0] : cat(parts, 0);
}

// Sets the tensors of a group to views of `flat`.
void unflatten_into(Tensors& out, const Tensor& flat, TensorList like, const std::vector<std::size_t>& group) {
  int64_t at = 0;
  for (const std::size_t k : group) {
    const Tensor part = flat.narrow(0, at, like[k].numel());
    if (is_channels_last(dense_format(like[k])))
      out[k] = part.view(like[k].movedim(1, -1).sizes()).movedim(-1, 1);
    else
      out[k] = part.view(like[k].sizes());
    at += like[k].numel();
  }
}

void check_alike(const char* operation, const std::vector<Tensors>& lists) {
  check(!lists.empty(), operation, ": no lists given");
  for (const Tensors& list : lists) {
    check_defined(operation, list);
    check(list.size() == lists[0].size(), operation, ": lists differ in length: ", lists[0].size(), " and ",
          list.size(), " tensors");
    for (std::size_t k = 0; k < list.size(); ++k)
      check(list[k].sizes() == lists[0][k].sizes() && list[k].dtype() == lists[0][k].dtype(), operation, ": tensor ", k,
            " differs in shape or dtype\n  ", lists[0][k], "\n  ", list[k]);
  }
}

}  // namespace

std::vector<Tensors> broadcast_coalesced(TensorList tensors, ArrayRef<Device> devices) {
  check_defined("broadcast_coalesced", tensors);
  const std::vector<Device> to = checked_devices("broadcast_coalesced", devices);
  std::vector<Tensors> out(to.size(), Tensors(tensors.size()));
  for (const auto& group : groups_of(tensors)) {
    const Device home = tensors[group[0]].device();
    Tensor flat;  // built only if some device needs a copy
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (to[i] == home) {
        for (const std::size_t k : group) out[i][k] = tensors[k];
        continue;
      }
      if (!flat.defined()) flat = flatten_together(tensors, tensors, group);
      unflatten_into(out[i], flat.to(to[i], /*non_blocking=*/true), tensors, group);
    }
  }
  return out;
}

Tensor reduce_add(TensorList tensors, Device device) {
  check(tensors.size() != 0, "reduce_add: no tensors given");
  check_defined("reduce_add", tensors);
  device = resolve(device);
  Tensor sum;
  for (const Tensor& t : tensors) {
    check(t.sizes() == tensors[0].sizes() && t.dtype() == tensors[0].dtype(),
          "reduce_add: tensors differ in shape or dtype\n  first ", tensors[0], "\n  other ", t);
    const Tensor here = t.to(device, /*non_blocking=*/true);
    sum = sum.defined() ? sum + here : here;
  }
  return tensors.size() == 1 ? sum.clone() : sum;
}

Tensors reduce_add_coalesced(const std::vector<Tensors>& lists, Device device) {
  check_alike("reduce_add_coalesced", lists);
  Tensors out(lists[0].size());
  for (const auto& group : groups_of(lists[0])) {
    Tensors flats;
    for (const Tensors& list : lists) flats.push_back(flatten_together(list, lists[0], group));
    unflatten_into(out, reduce_add(flats, device), lists[0], group);
  }
  return out;
}

void all_reduce(TensorList tensors) {
  check(tensors.size() != 0, "all_reduce: no tensors given");
  check_defined("all_reduce", tensors);
  NoGradGuard no_grad;
  const Tensor sum = reduce_add(tensors, tensors[0].device());
  for (const Tensor& t : tensors) Tensor(t).copy_(sum, /*non_blocking=*/true);
}

void all_reduce_coalesced(const std::vector<Tensors>& lists) {
  check_alike("all_reduce_coalesced", lists);
  if (lists[0].empty()) return;
  NoGradGuard no_grad;
  const Tensors sums = reduce_add_coalesced(lists, lists[0][0].device());
  for (const Tensors& list : lists) {
    const Tensors here = broadcast_coalesced(sums, {list[0].device()})[0];
    for (std::size_t k = 0; k < list.size(); ++k) Tensor(list[k]).copy_(here[k], /*non_blocking=*/true);
  }
}

}  // namespace tandem::parallel
