// Optimizer steps on the CPU.
#include <algorithm>

#include "tandem/core/backend/optim.h"
#include "tandem/core/cpu/pointwise/loop.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/optim_math.h"

namespace tandem::cpu {
namespace {

template <class T>
T* data(TensorList list, std::size_t i) {
  return list.empty() ? nullptr : list[i].ptr<T>();
}

template <class T>
void add_others(const Gradients& grads, std::size_t i, int64_t begin, int64_t end) {
  T* __restrict sum = grads.of[i].ptr<T>() + begin;
  const int64_t place = sum - grads.own->ptr<T>();
  for (const Tensor& other : grads.others) {
    const T* __restrict g = other.ptr<T>() + place;
    for (int64_t k = 0; k < end - begin; ++k) sum[k] += g[k];
  }
}

// Calls run(Type<T>, i, begin, end) for the elements of each parameter. Gradients of several devices are
// summed one part at a time, so the sum is still in the cache when it is used.
template <class Run>
void for_params(TensorList params, const Gradients& grads, const char* operation, const Run& run) {
  constexpr int64_t kPart = 4096;
  for (std::size_t i = 0; i < params.size(); ++i)
    dispatch(params[i].dtype(), FloatTypes{}, operation, [&]<class T>(Type<T> type) {
      parallel_for(params[i].numel(), kGrain, [&](int64_t begin, int64_t end) {
        if (grads.others.empty()) return run(type, i, begin, end);
        for (int64_t at = begin; at < end; at += kPart) {
          const int64_t stop = std::min(at + kPart, end);
          add_others<T>(grads, i, at, stop);
          run(type, i, at, stop);
        }
      });
    });
}

template <bool first, class T>
void sgd_momentum(const ops::Sgd<T>& update, T* __restrict p, const T* __restrict g, T* __restrict b, int64_t n) {
  for (int64_t k = 0; k < n; ++k) update.template step<first>(p[k], g[k], b[k]);
}

void sgd(TensorList params, const Gradients& grads, TensorList buffers, const SgdStep& step) {
  for_params(params, grads, "SGD", [&]<class T>(Type<T>, std::size_t i, int64_t begin, int64_t end) {
    const ops::Sgd<T> update(step);
    T* __restrict p = params[i].ptr<T>() + begin;
    const T* __restrict g = grads.of[i].ptr<T>() + begin;
    if (buffers.empty())
      for (int64_t k = 0; k < end - begin; ++k) update(p[k], g[k]);
    else if (step.first)
      sgd_momentum<true>(update, p, g, buffers[i].ptr<T>() + begin, end - begin);
    else
      sgd_momentum<false>(update, p, g, buffers[i].ptr<T>() + begin, end - begin);
  });
}

void adam(TensorList params, const Gradients& grads, TensorList means, TensorList squares, TensorList max_squares,
          const AdamStep& step) {
  for_params(params, grads, "Adam", [&]<class T>(Type<T>, std::size_t i, int64_t begin, int64_t end) {
    const ops::Adam<T> update(step);
    T* __restrict p = params[i].ptr<T>() + begin;
    const T* __restrict g = grads.of[i].ptr<T>() + begin;
    T* __restrict m = means[i].ptr<T>() + begin;
    T* __restrict v = squares[i].ptr<T>() + begin;
    if (T* top = data<T>(max_squares, i); top != nullptr) {
      T* __restrict t = top + begin;
      for (int64_t k = 0; k < end - begin; ++k) update(p[k], g[k], m[k], v[k], &t[k]);
    } else {
      for (int64_t k = 0; k < end - begin; ++k) update(p[k], g[k], m[k], v[k], nullptr);
    }
  });
}

void rmsprop(TensorList params, const Gradients& grads, TensorList squares, TensorList means, TensorList buffers,
             const RmsPropStep& step) {
  for_params(params, grads, "RMSprop", [&]<class T>(Type<T>, std::size_t i, int64_t begin, int64_t end) {
    const ops::RmsProp<T> update(step);
    T *p = params[i].ptr<T>(), *square = squares[i].ptr<T>();
    const T* g = grads.of[i].ptr<T>();
    T *mean = data<T>(means, i), *buffer = data<T>(buffers, i);
    for (int64_t k = begin; k < end; ++k)
      update(p[k], g[k], square[k], mean ? mean + k : nullptr, buffer ? buffer + k : nullptr);
  });
}

void adagrad(TensorList params, const Gradients& grads, TensorList sums, const AdagradStep& step) {
  for_params(params, grads, "Adagrad", [&]<class T>(Type<T>, std::size_t i, int64_t begin, int64_t end) {
    const ops::Adagrad<T> update(step);
    T* __restrict p = params[i].ptr<T>();
    const T* __restrict g = grads.of[i].ptr<T>();
    T* __restrict sum = sums[i].ptr<T>();
    for (int64_t k = begin; k < end; ++k) update(p[k], g[k], sum[k]);
  });
}

}  // namespace

constinit const OptimKernels optim_kernels{.sgd = sgd, .adam = adam, .rmsprop = rmsprop, .adagrad = adagrad};

}  // namespace tandem::cpu
