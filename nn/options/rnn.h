// Options of RNN, LSTM, GRU and their cells.
#pragma once
#include "tandem/core/arg.h"
#include "tandem/core/tensor.h"
#include "tandem/nn/enums.h"

namespace tandem {
namespace nn {

enum class RNNMode : int8_t { kLSTM, kGRU, kRNN_TANH, kRNN_RELU };

namespace detail {
struct RNNOptionsBase {
  RNNOptionsBase(RNNMode mode, int64_t input_size, int64_t hidden_size)
      : mode_(mode), input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(RNNMode, mode);
  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(int64_t, num_layers) = 1;
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(bool, batch_first) = false;
  TANDEM_ARG(double, dropout) = 0.0;
  TANDEM_ARG(bool, bidirectional) = false;
  TANDEM_ARG(int64_t, proj_size) = 0;
};
struct RNNCellOptionsBase {
  RNNCellOptionsBase(int64_t input_size, int64_t hidden_size, bool bias, int64_t num_chunks)
      : input_size_(input_size), hidden_size_(hidden_size), bias_(bias), num_chunks_(num_chunks) {}
  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(bool, bias);
  /// Number of gates.
  TANDEM_ARG(int64_t, num_chunks);
};
}  // namespace detail

struct RNNOptions {
  using nonlinearity_t = init::Nonlinearity;
  RNNOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(int64_t, num_layers) = 1;
  /// kTanh or kReLU.
  TANDEM_ARG(nonlinearity_t, nonlinearity) = kTanh;
  TANDEM_ARG(bool, bias) = true;
  /// Input and output are [batch, steps, features].
  TANDEM_ARG(bool, batch_first) = false;
  /// Probability of dropout after each layer but the last, in training.
  TANDEM_ARG(double, dropout) = 0.0;
  TANDEM_ARG(bool, bidirectional) = false;
};

struct LSTMOptions {
  LSTMOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(int64_t, num_layers) = 1;
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(bool, batch_first) = false;
  TANDEM_ARG(double, dropout) = 0.0;
  TANDEM_ARG(bool, bidirectional) = false;
  /// If positive, the output is a projection of this size.
  TANDEM_ARG(int64_t, proj_size) = 0;
};

struct GRUOptions {
  GRUOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(int64_t, num_layers) = 1;
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(bool, batch_first) = false;
  TANDEM_ARG(double, dropout) = 0.0;
  TANDEM_ARG(bool, bidirectional) = false;
};

struct RNNCellOptions {
  using nonlinearity_t = init::Nonlinearity;
  RNNCellOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(bool, bias) = true;
  /// kTanh or kReLU.
  TANDEM_ARG(nonlinearity_t, nonlinearity) = kTanh;
};

struct LSTMCellOptions {
  LSTMCellOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(bool, bias) = true;
};

struct GRUCellOptions {
  GRUCellOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(bool, bias) = true;
};

}  // namespace nn

inline constexpr nn::RNNMode kLSTM = nn::RNNMode::kLSTM, kGRU = nn::RNNMode::kGRU, kRNN_TANH = nn::RNNMode::kRNN_TANH,
                             kRNN_RELU = nn::RNNMode::kRNN_RELU;

}  // namespace tandem
