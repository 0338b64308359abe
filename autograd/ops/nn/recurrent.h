// Recurrent networks, as LibTorch's functions of the same names.
//
// Gates are stacked along the first dimension of the weights: i, f, g, o of an LSTM, r, z, n of a GRU. With H the
// hidden size, P the size of the output (H, or that of the projection of an LSTM), G the number of gates (4, 3 or 1)
// and D = 2 if bidirectional, otherwise 1:
//
//   input    [T, B, I], or [B, T, I] with batch_first
//   hx       [D num_layers, B, P]; of an LSTM a list of it and of the cells [D num_layers, B, H]
//   params   for each layer and direction: w_ih [G H, I or D P], w_hh [G H, P], b_ih and b_hh [G H] if has_biases, and
//            w_hr [P, H] of an LSTM whose output and cells differ in size
//   results  output [T, B, D P] (or [B, T, D P]), then the final states in the shapes of hx
//
// The packed forms take the rows of all steps, data [N, I], and the number of rows of each step, batch_sizes, an int64
// tensor on the CPU that does not increase (nn::utils::rnn::PackedSequence); their output is [N, D P]. Dropout follows
// each layer but the last, if `train` is set. Throws Error for other shapes, dtypes or devices.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, TensorList hx, TensorList params, bool has_biases,
                                        int64_t num_layers, double dropout, bool train, bool bidirectional,
                                        bool batch_first);
std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& data, const Tensor& batch_sizes, TensorList hx, TensorList params,
                                        bool has_biases, int64_t num_layers, double dropout, bool train,
                                        bool bidirectional);
std::tuple<Tensor, Tensor> gru(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                               int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first);
std::tuple<Tensor, Tensor> gru(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, TensorList params,
                               bool has_biases, int64_t num_layers, double dropout, bool train, bool bidirectional);
std::tuple<Tensor, Tensor> rnn_tanh(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                                    int64_t num_layers, double dropout, bool train, bool bidirectional,
                                    bool batch_first);
std::tuple<Tensor, Tensor> rnn_tanh(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, TensorList params,
                                    bool has_biases, int64_t num_layers, double dropout, bool train,
                                    bool bidirectional);
std::tuple<Tensor, Tensor> rnn_relu(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                                    int64_t num_layers, double dropout, bool train, bool bidirectional,
                                    bool batch_first);
std::tuple<Tensor, Tensor> rnn_relu(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, TensorList params,
                                    bool has_biases, int64_t num_layers, double dropout, bool train,
                                    bool bidirectional);

/// One step: input [B, I], hx [B, H] (of an LSTM the list of hidden state and cells, which is also the result). Without
/// the batch dimension everywhere, the results have none either. Biases are optional.
std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, TensorList hx, const Tensor& w_ih, const Tensor& w_hh,
                                     const Tensor& b_ih = {}, const Tensor& b_hh = {});
Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih = {},
                const Tensor& b_hh = {});
Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih = {}, const Tensor& b_hh = {});
Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih = {}, const Tensor& b_hh = {});

}  // namespace tandem
