// The state of autocast, and its cache of converted leaves.
#include "tandem/autograd/autocast.h"

#include <new>
#include <unordered_map>

#include "tandem/autograd/cast_group.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/detail/autocast_lists.h"

namespace tandem::autocast {
namespace detail {
thread_local constinit State state;
}
namespace {
using detail::state;

struct Cached {
  Tensor leaf, converted;  // the leaf too: its address must not be used again
  int64_t version;
  bool used = false;

  bool holds(const Tensor& t, ScalarType type) const {
    return converted.defined() && converted.dtype() == type && version == t._version();
  }
};
thread_local std::unordered_map<const TensorImpl*, Cached> cache;

unsigned bit(DeviceType device) { return 1u << static_cast<unsigned>(device); }
ScalarType& dtype_of(DeviceType device) { return state.dtypes[device == kCPU ? 0 : 1]; }

// Converts t and the other leaves of its group that are not in the cache. Returns false if it has none.
bool convert_group(const Tensor& t, ScalarType type) {
  std::vector<Tensor> leaves = group_of(t);
  std::erase_if(leaves, [&](const Tensor& leaf) {
    const auto at = cache.find(leaf.impl());
    return at != cache.end() && at->second.holds(leaf, type);
  });
  if (leaves.size() < 2) return false;
  const std::vector<Tensor> converted = convert_all(leaves, type);
  for (std::size_t i = 0; i < leaves.size(); ++i)
    cache[leaves[i].impl()] = {leaves[i], converted[i], static_cast<int64_t>(leaves[i]._version())};
  return true;
}

// At the end of a region: the leaves that it has used become a group for the following ones, the others leave theirs.
void update_groups() {
  std::vector<Tensor> used;
  for (const auto& [leaf, kept] : cache)
    if (kept.used)
      used.push_back(kept.leaf);
    else if (kept.leaf.defined())  // its conversion has not failed
      leave_group(kept.leaf);
  make_groups(used);
}

bool can_keep(const Tensor& t) {
  return state.cache_enabled && state.nesting > 0 && GradMode::is_enabled() && t.is_leaf() && t.requires_grad();
}

}  // namespace

bool is_autocast_enabled(DeviceType device) { return (state.enabled & bit(device)) != 0; }
void set_autocast_enabled(DeviceType device, bool enabled) {
  state.enabled = enabled ? state.enabled | bit(device) : state.enabled & ~bit(device);
}
ScalarType get_autocast_dtype(DeviceType device) { return dtype_of(device); }
void set_autocast_dtype(DeviceType device, ScalarType dtype) {
  check(isReducedFloatingType(dtype) || dtype == kFloat, "autocast: expected float16, bfloat16 or float32, got ",
        dtype);
  dtype_of(device) = dtype;
}
bool is_autocast_cache_enabled() { return state.cache_enabled; }
void set_autocast_cache_enabled(bool enabled) { state.cache_enabled = enabled; }
void clear_cache() {
  try {
    update_groups();
  } catch (const std::bad_alloc&) {  // a region may end for lack of memory, and groups only save time
  }
  cache.clear();
}
int increment_nesting() { return ++state.nesting; }
int decrement_nesting() { return --state.nesting; }

Tensor cached_cast(ScalarType to_type, const Tensor& t, DeviceType device) {
  if (!t.defined() || !t.is_floating_point() || t.dtype() == kDouble || t.dtype() == to_type ||
      t.device().type() != device)
    return t;
  if (!isReducedFloatingType(to_type) || !can_keep(t)) return t.to(to_type);
  Cached& kept = cache[t.impl()];
  if (!kept.holds(t, to_type) && !convert_group(t, to_type)) kept = {t, t.to(to_type), t._version()};
  kept.used = true;
  return kept.converted;
}

ScalarType widest(std::initializer_list<const Tensor*> tensors, DeviceType device) {
  ScalarType type = get_autocast_dtype(device);
  for (const Tensor* t : tensors)
    if (t->defined() && t->is_floating_point() && t->dtype() != kDouble && t->device().type() == device &&
        t->dtype() != type)
      type = kFloat;
  return type;
}

AutocastGuard::AutocastGuard(DeviceType device, optional<ScalarType> dtype, bool enabled, bool cache_enabled)
    : device_(device),
      enabled_(is_autocast_enabled(device)),
      cache_enabled_(state.cache_enabled),
      dtype_(get_autocast_dtype(device)) {
  set_autocast_dtype(device, dtype.value_or(dtype_));
  set_autocast_enabled(device, enabled);
  state.cache_enabled = cache_enabled;
  increment_nesting();
}
AutocastGuard::~AutocastGuard() {
  if (decrement_nesting() == 0) clear_cache();
  set_autocast_enabled(device_, enabled_);
  dtype_of(device_) = dtype_;
  state.cache_enabled = cache_enabled_;
}

}  // namespace tandem::autocast
