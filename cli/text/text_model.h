// GPT-2 as a model of the tool, and the files of weights that it starts from.
#pragma once
#include <string>

#include "tandem/cli/text/text_codec.h"
#include "tandem/cli/text/text_config.h"
#include "tandem/nn/files/archive.h"
#include "tandem/nn/sequential.h"

namespace tandem::cli {

/// A model from tokens [N, T], int64, to logits [N, T, vocab_size], initialised from the default generator. It is the
/// entry "net" of the sequence.
nn::Sequential make_text_model(const TextConfig& config);
/// make_text_model for parameters from a file: throws Error before allocating if there are too few.
nn::Sequential make_text_model_for(const TextConfig& config, const serialize::InputArchive& stored);
/// The GPT-2 in it.
models::GPT2LMHeadModel gpt2_in(const nn::Sequential& model);
/// What to save for other programs: Hugging Face's names, without the head, which is the embedding.
OrderedDict<std::string, Tensor> exported_text(const nn::Sequential& model);

/// Weights of a GPT-2, and what their folder says about them.
struct TextWeights {
  std::string folder;
  OrderedDict<std::string, Tensor> state{"Tensor"};
  models::GPT2Options sizes;
};

/// The file with the weights that `path` names: itself; in a folder, the one with the name that Tandem or Hugging Face
/// uses, or the index of a sharded checkpoint. Throws Error if there is none.
std::string weights_file(const std::string& path);
/// `heads` 0: n_head of a config.json beside the weights, else the width / 64. Throws Error on files that cannot be
/// read and on weights of other models. `key`: of the state dict in a .pt file with more.
TextWeights read_text_weights(const std::string& path, int64_t heads, const std::string& key = {});

/// A GPT-2 in evaluation mode and its tokenizer, which may be empty.
struct TextModel {
  models::GPT2LMHeadModel model = nullptr;
  TextCodec codec;
};
/// The model of read_text_weights, on the device. Its weights are int8 where the file's are (nn/quantize.h).
TextModel text_model_of(const std::string& path, int64_t heads, const std::string& key, const Device& device);
/// The weights of a GPT-2 with so many bits, in a form that text_model_of reads, with the names of exported_text.
/// Throws Error on weights of other models.
OrderedDict<std::string, Tensor> quantized_text(const OrderedDict<std::string, Tensor>& state, int64_t bits);

}  // namespace tandem::cli
