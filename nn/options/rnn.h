// Options of RNN, LSTM, GRU and their cells.
#pragma once
#include "tandem/core/arg.h"
#include "tandem/core/tensor.h"
#include "tandem/nn/enums.h"

namespace tandem {
namespace nn {

enum class RNNMode : int8_t { kLSTM, kGRU, kRNN_TANH, kRNN_RELU };

/// The sizes that all of the options begin with, and their constructor.
#define TANDEM_RNN_SIZES(Name)                                                                          \
  Name(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {} \
  TANDEM_ARG(int64_t, input_size);                                                                      \
  TANDEM_ARG(int64_t, hidden_size)
/// The options of RNN, LSTM and GRU that RNNOptions describes.
#define TANDEM_RNN_FLAGS                 \
  TANDEM_ARG(bool, bias) = true;         \
  TANDEM_ARG(bool, batch_first) = false; \
  TANDEM_ARG(double, dropout) = 0.0;     \
  TANDEM_ARG(bool, bidirectional) = false

namespace detail {
struct RNNOptionsBase {
  RNNOptionsBase(RNNMode mode, int64_t input_size, int64_t hidden_size)
      : mode_(mode), input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(RNNMode, mode);
  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(int64_t, num_layers) = 1;
  TANDEM_RNN_FLAGS;
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

/// With batch_first, input and output are [batch, steps, features]. `dropout` is the probability of dropout after each
/// layer but the last, in training.
struct RNNOptions {
  using nonlinearity_t = init::Nonlinearity;
  TANDEM_RNN_SIZES(RNNOptions);
  TANDEM_ARG(int64_t, num_layers) = 1;
  /// kTanh or kReLU.
  TANDEM_ARG(nonlinearity_t, nonlinearity) = kTanh;
  TANDEM_RNN_FLAGS;
};

struct LSTMOptions {
  TANDEM_RNN_SIZES(LSTMOptions);
  TANDEM_ARG(int64_t, num_layers) = 1;
  TANDEM_RNN_FLAGS;
  /// If positive, the output is a projection of this size.
  TANDEM_ARG(int64_t, proj_size) = 0;
};

struct GRUOptions {
  TANDEM_RNN_SIZES(GRUOptions);
  TANDEM_ARG(int64_t, num_layers) = 1;
  TANDEM_RNN_FLAGS;
};

struct RNNCellOptions {
  using nonlinearity_t = init::Nonlinearity;
  TANDEM_RNN_SIZES(RNNCellOptions);
  TANDEM_ARG(bool, bias) = true;
  /// kTanh or kReLU.
  TANDEM_ARG(nonlinearity_t, nonlinearity) = kTanh;
};

struct LSTMCellOptions {
  TANDEM_RNN_SIZES(LSTMCellOptions);
  TANDEM_ARG(bool, bias) = true;
};

struct GRUCellOptions {
  TANDEM_RNN_SIZES(GRUCellOptions);
  TANDEM_ARG(bool, bias) = true;
};

}  // namespace nn

inline constexpr nn::RNNMode kLSTM = nn::RNNMode::kLSTM, kGRU = nn::RNNMode::kGRU, kRNN_TANH = nn::RNNMode::kRNN_TANH,
                             kRNN_RELU = nn::RNNMode::kRNN_RELU;

}  // namespace tandem
