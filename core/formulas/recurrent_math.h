// The cells of recurrent layers, for host and device: each function handles one element of one row of the structs in
// core/backend/recurrent.h. Pointers are to the row; gates of one kind are `size` elements apart.
//
// LSTM: S. Hochreiter, J. Schmidhuber: Long short-term memory. 1997. GRU: K. Cho et al.: Learning phrase
// representations using RNN encoder-decoder. 2014; with the reset gate after the product, as in PyTorch and cuDNN.
#pragma once
#include "tandem/core/backend/recurrent.h"
#include "tandem/core/base/host_device.h"
#include "tandem/core/formulas/math.h"

namespace tandem::ops {

template <class T>
struct CellForward {
  T* gates;
  T *h, *c, *out;
  const T *hidden, *bias;
  T *h_prev, *c_prev, *candidate;
  int64_t size;
};
template <class T>
struct CellBackward {
  const T *gates, *h_prev, *c_prev, *candidate, *grad;
  T *dh, *dc, *d_gates, *d_hidden;
  int64_t size;
};

/// i, f, o = sigmoid, g = tanh; c' = f c + i g; h' = o tanh(c').
struct LstmCell {
  static constexpr int kGates = 4;
  template <bool save, class T>
  TANDEM_HD static void forward(const CellForward<T>& s, int64_t j) {
    T* a = s.gates + j;
    const T i = math::sigmoid(a[0]), f = math::sigmoid(a[s.size]), g = math::tanh(a[2 * s.size]),
            o = math::sigmoid(a[3 * s.size]), c = s.c[j];
    if constexpr (save) {
      a[0] = i, a[s.size] = f, a[2 * s.size] = g, a[3 * s.size] = o;
      s.c_prev[j] = c;
      s.h_prev[j] = s.h[j];
    }
    const T next = f * c + i * g, h = o * math::tanh(next);
    s.c[j] = next;
    s.h[j] = h;
    s.out[j] = h;
  }
  template <class T>
  TANDEM_HD static void backward(const CellBackward<T>& s, int64_t j) {
    const T* a = s.gates + j;
    T* d = s.d_gates + j;
    const T i = a[0], f = a[s.size], g = a[2 * s.size], o = a[3 * s.size], c = s.c_prev[j];
    const T dh = s.dh[j] + s.grad[j], t = math::tanh(f * c + i * g);
    const T dc = s.dc[j] + dh * o * (T(1) - t * t);
    d[0] = dc * g * i * (T(1) - i);
    d[s.size] = dc * c * f * (T(1) - f);
    d[2 * s.size] = dc * i * (T(1) - g * g);
    d[3 * s.size] = dh * t * o * (T(1) - o);
    s.dc[j] = dc * f;
  }
};

/// r, z = sigmoid(x + h); n = tanh(x + r h); h' = n + z (h - n).
struct GruCell {
  static constexpr int kGates = 3;
  template <bool save, class T>
  TANDEM_HD static void forward(const CellForward<T>& s, int64_t j) {
    T* a = s.gates + j;
    const T *x = s.hidden + j, *b = s.bias + j;
    const T r = math::sigmoid(a[0] + (x[0] + b[0])), z = math::sigmoid(a[s.size] + (x[s.size] + b[s.size]));
    const T candidate = x[2 * s.size] + b[2 * s.size], n = math::tanh(a[2 * s.size] + r * candidate);
    const T h = s.h[j], next = n + z * (h - n);
    if constexpr (save) {
      a[0] = r, a[s.size] = z, a[2 * s.size] = n;
      s.candidate[j] = candidate;
      s.h_prev[j] = h;
    }
    s.h[j] = next;
    s.out[j] = next;
  }
  template <class T>
  TANDEM_HD static void backward(const CellBackward<T>& s, int64_t j) {
    const T* a = s.gates + j;
    T *d = s.d_gates + j, *e = s.d_hidden + j;
    const T r = a[0], z = a[s.size], n = a[2 * s.size], dh = s.dh[j] + s.grad[j];
    const T dn = dh * (T(1) - z) * (T(1) - n * n);
    const T dr = dn * s.candidate[j] * r * (T(1) - r), dz = dh * (s.h_prev[j] - n) * z * (T(1) - z);
    d[0] = dr, d[s.size] = dz, d[2 * s.size] = dn;
    e[0] = dr, e[s.size] = dz, e[2 * s.size] = dn * r;
    s.dh[j] = dh * z;
  }
};

/// h' = f(a), with the derivative from h'.
template <class F>
struct SimpleCell {
  static constexpr int kGates = 1;
  template <bool save, class T>
  TANDEM_HD static void forward(const CellForward<T>& s, int64_t j) {
    const T h = F::value(s.gates[j]);
    if constexpr (save) {
      s.gates[j] = h;
      s.h_prev[j] = s.h[j];
    }
    s.h[j] = h;
    s.out[j] = h;
  }
  template <class T>
  TANDEM_HD static void backward(const CellBackward<T>& s, int64_t j) {
    s.d_gates[j] = F::gradient(s.dh[j] + s.grad[j], s.gates[j]);
  }
};
struct TanhOfCell {
  template <class T>
  TANDEM_HD static T value(T x) {
    return math::tanh(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T y) {
    return g * (T(1) - y * y);
  }
};
/// NaN stays NaN.
struct ReluOfCell {
  template <class T>
  TANDEM_HD static T value(T x) {
    return x < T(0) ? T(0) : x;
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T y) {
    return y <= T(0) ? T(0) : g;
  }
};
using TanhCell = SimpleCell<TanhOfCell>;
using ReluCell = SimpleCell<ReluOfCell>;

/// Calls f with the cell of `kind`.
template <class F>
void with_cell(RecurrentKind kind, F&& f) {
  switch (kind) {
    case RecurrentKind::kLstm:
      return f(LstmCell());
    case RecurrentKind::kGru:
      return f(GruCell());
    case RecurrentKind::kTanh:
      return f(TanhCell());
    case RecurrentKind::kRelu:
      return f(ReluCell());
  }
}

/// The pointers of row 0 of a step whose rows begin at `at`. Tensors that the cell does not have are nullptr.
template <class T>
T* rows_from(const Tensor& t, int64_t row) {
  return t.defined() ? t.ptr<T>() + row * t.size(-1) : nullptr;
}
template <class T>
CellForward<T> cell_forward(const RecurrentForward& s, const T* hidden, int64_t at) {
  return {rows_from<T>(s.gates, at),
          rows_from<T>(s.h, 0),
          rows_from<T>(s.c, 0),
          rows_from<T>(s.out, at),
          hidden,
          rows_from<T>(s.bias, 0),
          rows_from<T>(s.h_prev, at),
          rows_from<T>(s.c_prev, at),
          rows_from<T>(s.candidate, at),
          s.h.size(1)};
}
template <class T>
CellBackward<T> cell_backward(const RecurrentBackward& s, int64_t at) {
  return {rows_from<T>(s.gates, at),    rows_from<T>(s.h_prev, at),
          rows_from<T>(s.c_prev, at),   rows_from<T>(s.candidate, at),
          rows_from<T>(s.grad, at),     rows_from<T>(s.dh, 0),
          rows_from<T>(s.dc, 0),        rows_from<T>(s.d_gates, at),
          rows_from<T>(s.d_hidden, at), s.dh.size(1)};
}

/// The pointers of row `row`.
template <class T>
TANDEM_HD inline T* advanced(T* p, int64_t count) {
  return p == nullptr ? p : p + count;
}
template <class Cell, class T>
TANDEM_HD inline CellForward<T> row_of(const CellForward<T>& s, int64_t row) {
  const int64_t n = row * s.size;
  return {s.gates + n * Cell::kGates,
          s.h + n,
          advanced(s.c, n),
          s.out + n,
          advanced(s.hidden, n * Cell::kGates),
          s.bias,
          advanced(s.h_prev, n),
          advanced(s.c_prev, n),
          advanced(s.candidate, n),
          s.size};
}
template <class Cell, class T>
TANDEM_HD inline CellBackward<T> row_of(const CellBackward<T>& s, int64_t row) {
  const int64_t n = row * s.size;
  return {s.gates + n * Cell::kGates,
          s.h_prev + n,
          advanced(s.c_prev, n),
          advanced(s.candidate, n),
          s.grad + n,
          s.dh + n,
          advanced(s.dc, n),
          s.d_gates + n * Cell::kGates,
          advanced(s.d_hidden, n * Cell::kGates),
          s.size};
}

}  // namespace tandem::ops
