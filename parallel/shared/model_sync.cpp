#include "tandem/parallel/shared/model_sync.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/memory_format.h"

namespace tandem::distributed {
namespace {

// One line per tensor.
std::string description(const nn::Module& module) {
  std::string out;
  const auto add = [&](const char* kind, const auto& named) {
    for (const auto& [name, tensor] : named)
      out += concat(kind, " ", name, " ", tensor.sizes(), " ", tensor.dtype(),
                    is_channels_last(dense_format(tensor)) ? ", channels-last" : "",
                    tensor.requires_grad() ? "\n" : ", frozen\n");
  };
  add("parameter", module.named_parameters());
  add("buffer", module.named_buffers());
  return out;
}

constexpr int64_t kLongest = 1 << 20;  // bytes of a text that are exchanged

Tensor gather_numbers(ProcessGroup& group, int64_t number) {
  Tensor own = empty({1, 1}, kLong);
  own.data_ptr<int64_t>()[0] = number;
  return gather_rows(group, own).view({group.size()});
}

// The first line in which the descriptions differ, from each.
std::string difference(const std::string& a, const std::string& b) {
  std::istringstream left(a), right(b);
  for (std::string x, y;;) {
    const bool more_left = static_cast<bool>(std::getline(left, x)),
               more_right = static_cast<bool>(std::getline(right, y));
    if (!more_left && !more_right) return "";
    if (!more_left || !more_right || x != y)
      return concat("\n  rank 0: ", more_left ? x : "no such tensor",
                    "\n  here:   ", more_right ? y : "no such tensor");
  }
}

}  // namespace

std::vector<std::string> exchange_texts(ProcessGroup& group, const std::string& text) {
  const auto size = static_cast<int64_t>(text.size());
  const Tensor sizes = gather_numbers(group, std::min(size, kLongest));
  const int64_t longest = std::clamp<int64_t>(sizes.max().item<int64_t>(), 1, kLongest);
  Tensor bytes = zeros({1, longest}, kByte);
  std::memcpy(bytes.data_ptr(), text.data(), static_cast<std::size_t>(std::min(size, longest)));
  const Tensor all = gather_rows(group, bytes);
  std::vector<std::string> out;
  for (int i = 0; i < group.size(); ++i)
    out.emplace_back(static_cast<const char*>(all.data_ptr()) + i * longest,
                     static_cast<std::size_t>(std::clamp<int64_t>(sizes.data_ptr<int64_t>()[i], 0, longest)));
  return out;
}

// Hashes are compared first, because they are short.
void compare_models(ProcessGroup& group, const nn::Module& module, const char* caller) {
  const std::string text = description(module);
  const Tensor hashes = gather_numbers(group, static_cast<int64_t>(std::hash<std::string>{}(text)));
  const int64_t* hash = hashes.data_ptr<int64_t>();
  if (std::all_of(hash, hash + group.size(), [&](int64_t h) { return h == hash[0]; })) return;
  const std::vector<std::string> all = exchange_texts(group, text);
  for (int i = 1; i < group.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (all[at] == all[0]) continue;
    std::string lines = difference(all[0], all[at]);
    const std::size_t here = lines.find("here:  ");
    if (here != std::string::npos) lines.replace(here, 7, concat("rank ", i, ":"));
    throw DistributedError(concat(caller, ": the model of rank ", i, " differs from that of rank 0", lines));
  }
  if (static_cast<int64_t>(all[0].size()) == kLongest)
    throw DistributedError(concat(caller, ": the models of the processes differ beyond their first tensors"));
}

Tensor gather_rows(ProcessGroup& group, const Tensor& row) {
  const NoGradGuard no_grad;
  std::vector<int64_t> sizes = row.sizes().vec();
  sizes[0] *= group.size();
  const Tensor all = empty(sizes, TensorOptions(row.dtype()).device(group.device()));
  group.all_gather(all, row.to(group.device()))->wait();
  return all.cpu();
}

Coalesced::Coalesced(const std::vector<Tensor>& tensors, int64_t bytes, Device device) {
  std::vector<char> taken(tensors.size(), 0);
  for (std::size_t first = 0; first < tensors.size(); ++first) {
    if (taken[first]) continue;
    std::vector<Tensor> parts;
    int64_t filled = 0, elements = 0;
    for (std::size_t i = first; i < tensors.size() && filled < bytes; ++i) {
      const Tensor& t = tensors[i];
      if (taken[i] || t.dtype() != tensors[first].dtype() || t.numel() == 0) continue;  // nothing to copy
      taken[i] = 1;
      filled += static_cast<int64_t>(t.nbytes());
      elements += t.numel();
      parts.push_back(t.detach());
    }
    if (elements == 0) continue;
    buffers_.push_back(empty({elements}, TensorOptions(parts[0].dtype()).device(device)));
    parts_.push_back(std::move(parts));
  }
}

template <class Copy>
void Coalesced::for_parts(const Copy& copy) const {
  const NoGradGuard no_grad;
  for (std::size_t k = 0; k < buffers_.size(); ++k) {
    int64_t at = 0;
    for (const Tensor& t : parts_[k]) {
      copy(buffers_[k].narrow(0, at, t.numel()).view(t.sizes()), t);
      at += t.numel();
    }
  }
}

void Coalesced::pack() {
  for_parts([](Tensor part, const Tensor& t) { part.copy_(t); });
}
void Coalesced::unpack() const {
  for_parts([](const Tensor& part, Tensor t) { t.copy_(part); });
}

void broadcast_from(ProcessGroup& group, const std::vector<Tensor>& tensors, int root, int64_t bytes) {
  if (group.size() == 1 || tensors.empty()) return;
  Coalesced flat(tensors, bytes, group.device());
  if (group.rank() == root) flat.pack();
  for (const Tensor& buffer : flat.buffers()) group.broadcast(buffer, root)->wait();
  if (group.rank() != root) flat.unpack();
}

}  // namespace tandem::distributed
