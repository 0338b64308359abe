// A group refers to its leaves without keeping them alive: a leaf's autograd state holds its place in the group.
#include "tandem/autograd/cast_group.h"

#include <algorithm>
#include <mutex>

#include "tandem/autograd/hooks.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/copy.h"
#include "tandem/core/base/fork.h"
#include "tandem/core/memory_format.h"

namespace tandem::autocast {
namespace {
using namespace autograd;

struct Group {
  tandem::detail::ForkMutex mutex;
  std::vector<TensorImpl*> leaves;
};

// Its end, which comes before that of the leaf's memory, waits for the threads that read the group.
struct Place {
  Place(std::shared_ptr<Group> of, TensorImpl* leaf_) : group(std::move(of)), leaf(leaf_) {
    const std::lock_guard lock(group->mutex);
    group->leaves.push_back(leaf);
  }
  ~Place() {
    const std::lock_guard lock(group->mutex);
    std::erase(group->leaves, leaf);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  std::shared_ptr<Group> group;
  TensorImpl* leaf;
};

bool converts_together(const Tensor& t) {
  return t.defined() && t.dtype() == kFloat && static_cast<bool>(backend(t).copy.copy_all);
}

bool can_join(const Tensor& leaf, const Tensor& first) {
  const AutogradMeta* m = find_meta(leaf);
  const bool awaited = m != nullptr && m->leaf_hooks && !m->leaf_hooks->post_accumulate.empty();
  return !awaited && converts_together(leaf) && leaf.device() == first.device() && is_dense(leaf) &&
         leaf.requires_grad() && leaf.is_leaf();
}

// A result for each of `from`, with the same layout, converted by one kernel.
std::vector<Tensor> converted(const std::vector<Tensor>& from, ScalarType type) {
  std::vector<Tensor> out, to, elements;
  for (const Tensor& t : from) {
    const MemoryFormat format = t.suggest_memory_format();
    out.push_back(empty_raw(t.sizes(), type, t.device(), format));
    to.push_back(in_memory_order(out.back(), format));
    elements.push_back(in_memory_order(t, format));
  }
  if (!from.empty()) backend(from[0]).copy.copy_all(to, elements);
  return out;
}

struct CastBackward final : NamedNode<CastBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    std::vector<Tensor> from;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (!g[i].defined() || !needs(i)) continue;
      if (GradMode::is_enabled() || !is_dense(g[i])) {
        out[i] = g[i].to(kFloat);
      } else {
        from.push_back(g[i]);
        places.push_back(i);
      }
    }
    std::vector<Tensor> all = converted(from, kFloat);
    for (std::size_t k = 0; k < all.size(); ++k) out[places[k]] = std::move(all[k]);
  }
};

}  // namespace

std::vector<Tensor> group_of(const Tensor& t) {
  std::vector<Tensor> found;
  AutogradMeta* m = find_meta(t);
  if (m == nullptr) return found;
  std::shared_ptr<void> place;
  {
    const std::lock_guard lock(m->lock);
    place = m->cast_group;
  }
  if (place == nullptr || !can_join(t, t)) return found;
  {
    Group& group = *static_cast<Place*>(place.get())->group;
    const std::lock_guard lock(group.mutex);
    found.reserve(group.leaves.size());
    for (TensorImpl* leaf : group.leaves)
      if (leaf->try_retain()) found.emplace_back(IntrusivePtr<TensorImpl>::adopt(leaf));
  }
  std::erase_if(found, [&](const Tensor& leaf) { return !can_join(leaf, t); });
  return found;
}

void leave_group(const Tensor& leaf) {
  std::shared_ptr<void> place;  // ends after the lock
  AutogradMeta& m = meta(leaf);
  const std::lock_guard lock(m.lock);
  place.swap(m.cast_group);
}

void make_groups(const std::vector<Tensor>& leaves) {
  std::vector<std::pair<Device, std::shared_ptr<Group>>> groups;
  for (const Tensor& leaf : leaves) {
    if (!converts_together(leaf)) continue;
    AutogradMeta& m = meta(leaf);
    const std::lock_guard lock(m.lock);
    if (m.cast_group != nullptr) continue;
    auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == leaf.device(); });
    if (at == groups.end()) at = groups.insert(at, {leaf.device(), std::make_shared<Group>()});
    m.cast_group = std::make_shared<Place>(at->second, leaf.impl());
  }
}

std::vector<Tensor> convert_all(const std::vector<Tensor>& leaves, ScalarType type) {
  std::vector<Tensor> out = converted(leaves, type);
  record_list<CastBackward>(out, leaves);
  return out;
}

}  // namespace tandem::autocast
