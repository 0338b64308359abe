// fuse: y = (x w + b - mean) / √(var + eps) · g + c is a layer with the weight w s and the bias (b - mean) s + c, where
// s = g / √(var + eps) per output channel. Computed in double precision and rounded once.
#include "tandem/nn/fuse.h"

#include <typeinfo>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/core/base/demangle.h"
#include "tandem/nn/functional_module.h"
#include "tandem/nn/layers/activation.h"
#include "tandem/nn/layers/batch_norm.h"
#include "tandem/nn/layers/conv.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/sequential.h"

namespace tandem::nn {
namespace {

// Calls f(layer, rank of its output) if the module is a Linear or ConvNd.
template <class F>
bool with_layer(Module& module, const F& f) {
  if (auto* linear = module.as<Linear>()) return f(*linear, 2);
  if (auto* conv = module.as<Conv1d>()) return f(*conv, 3);
  if (auto* conv = module.as<Conv2d>()) return f(*conv, 4);
  if (auto* conv = module.as<Conv3d>()) return f(*conv, 5);
  return false;
}
// Calls f(norm, least, most) if the module is a BatchNorm, with the ranks of its input.
template <class F>
bool with_norm(Module& module, const F& f) {
  if (auto* norm = module.as<BatchNorm1d>()) return f(*norm, 2, 3);
  if (auto* norm = module.as<BatchNorm2d>()) return f(*norm, 4, 4);
  if (auto* norm = module.as<BatchNorm3d>()) return f(*norm, 5, 5);
  return false;
}

// The weights of a fused layer rarely change from now on.
template <class Layer>
void keep_packed(Layer& layer) {
  if constexpr (requires { layer.keeps_packed; }) layer.keeps_packed = true;
}

template <class Layer, class Norm>
bool fold_into(Layer& layer, Norm& norm, int rank) {
  if (!layer.weight.defined()) return false;  // nn/quantize.h
  const Tensor weight = layer.weight.detach();
  if (norm.folded_rank != 0 || !norm.running_mean.defined() || norm.normalize ||
      layer.fused != FusedActivation::kIdentity || weight.size(0) != norm.options.num_features() ||
      weight.device() != norm.running_mean.device())
    return false;
  NoGradGuard no_grad;
  const auto wide = [](const Tensor& t) { return t.detach().to(kDouble); };
  Tensor scale = (wide(norm.running_var) + norm.options.eps()).rsqrt();
  if (norm.weight.defined()) scale = scale * wide(norm.weight);
  Tensor shift = -wide(norm.running_mean);
  if (layer.bias.defined()) shift = shift + wide(layer.bias);
  shift = shift * scale;
  if (norm.bias.defined()) shift = shift + wide(norm.bias);
  std::vector<int64_t> per_channel(static_cast<std::size_t>(weight.dim()), 1);
  per_channel[0] = weight.size(0);
  layer.replace((wide(weight) * scale.view(per_channel)).to(weight.dtype()), shift.to(weight.dtype()));
  keep_packed(layer);
  norm.fold(rank);
  return true;
}

bool is_norm(Module& module) {
  return with_norm(module, [](auto& norm, int, int) { return norm.folded_rank == 0; });
}

FusedActivation activation_of(const Module& module) {
  if (module.as<ReLU>() != nullptr) return FusedActivation::kRelu;
  if (module.as<Hardswish>() != nullptr) return FusedActivation::kHardswish;
  return module.as<ReLU6>() != nullptr ? FusedActivation::kRelu6 : FusedActivation::kIdentity;
}

// Whether it takes tensors of any layout: layers do, other modules may view() them.
bool takes_any_layout(const Module& module) {
  return tandem::detail::demangle(typeid(module).name()).starts_with("tandem::nn::") &&
         module.as<Functional>() == nullptr && module.as<Unflatten>() == nullptr;
}

// One place in a Sequential.
struct Place {
  SequentialImpl* owner;
  std::size_t index;
  Module& module() const { return *owner->ptr(index); }
};

}  // namespace

bool Fuser::alone(const Module& module) const {
  const auto uses = uses_.find(&module);
  return !module.has_forward_hooks() && (uses == uses_.end() || uses->second <= 1);
}

bool Fuser::fold(Module& layer, Module& norm) {
  if (!alone(layer) || !alone(norm)) return false;
  const bool folded = with_layer(layer, [&](auto& into, int rank) {
    return with_norm(norm, [&](auto& from, int least, int most) {
      return rank >= least && rank <= most && fold_into(into, from, rank);
    });
  });
  result_.norms += folded;
  return folded;
}

bool Fuser::activate(Module& layer, const Module& activation) {
  const FusedActivation kind = activation_of(activation);
  if (kind == FusedActivation::kIdentity || !alone(layer) || activation.has_forward_hooks()) return false;
  const bool moved = with_layer(layer, [kind](auto& into, int) {
    if (into.fused != FusedActivation::kIdentity) return false;
    into.fused = kind;
    keep_packed(into);
    return true;
  });
  result_.activations += moved;
  return moved;
}

void Fuser::count_uses(const Module& module) {
  for (const auto& child : module.children())
    if (++uses_[child.get()] == 1) count_uses(*child);
}

void Fuser::fuse_chain(Module& sequential) {
  std::vector<Place> chain;
  const auto collect = [&](SequentialImpl& from, const auto& self) -> void {
    for (std::size_t i = 0; i < from.size(); ++i) {
      auto* nested = from[i]->as<Sequential>();
      if (nested != nullptr && alone(*nested) && !nested->is_empty())
        self(*nested, self);
      else
        chain.push_back({&from, i});
    }
  };
  collect(*sequential.as<Sequential>(), collect);
  Conv2dImpl* last = nullptr;
  for (const Place& place : chain)
    if (auto* conv = place.module().as<Conv2d>(); conv != nullptr && alone(*conv)) {
      if (last != nullptr) last->layout = MemoryFormat::ChannelsLast, conv->layout = MemoryFormat::Contiguous;
      last = conv;
    } else if (!takes_any_layout(place.module())) {
      last = nullptr;
    }
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
    Module& layer = chain[i].module();
    std::size_t next = i + 1;
    if (fold(layer, chain[next].module())) ++next;
    if (next == chain.size() || !activate(layer, chain[next].module())) continue;
    const Place place = chain[next];
    const Identity identity;
    place.owner->replace(place.index, identity);
  }
}

FuseResult fuse(Module& model) {
  for (const auto& item : model.named_modules("", false))
    check(!item.value()->is_training(), "fuse: '", item.key(),
          "' is in training mode; call eval() on the model first, because running statistics are folded as "
          "they are now");
  check(!model.is_training(), "fuse: the model is in training mode; call eval() first");
  Fuser fuser;
  fuser.count_uses(model);
  model.apply([&fuser](Module& module) {
    if (module.as<Sequential>() != nullptr) fuser.fuse_chain(module);
    if (auto* fusable = dynamic_cast<Fusable*>(&module)) fusable->fuse(fuser);
  });
  for (Module* inside : fuser.laid_out_)
    inside->apply([](Module& module) {
      if (auto* conv = module.as<Conv2d>()) conv->layout = MemoryFormat::ChannelsLast;
    });
  for (const auto& item : model.named_modules("", false))
    if (is_norm(*item.value())) fuser.result_.remaining.push_back(item.key());
  return fuser.result_;
}

}  // namespace tandem::nn
