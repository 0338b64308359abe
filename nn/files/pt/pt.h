// PyTorch's .pt and .pth files (torch.save of Python, of all versions since 0.4; torch::save of LibTorch and
// torch.jit.save, of versions since 1.6): tensors, dictionaries, lists, tuples, strings and numbers. In a separate
// library: link tandem_pt (pkg-config tandem-pt), which needs libzip.
//
// Reading runs no code of the file and looks up nothing that it names: whatever is not data of these kinds is refused
// with an Error that names it (nn/files/pt/pickle.h). Sizes are checked against the file before memory is allocated.
#pragma once
#include <string>
#include <vector>

#include "tandem/autograd/ivalue.h"
#include "tandem/core/base/ordered_dict.h"

namespace tandem {
namespace serialize {

/// What torch.save stored. A dictionary of any class is a dictionary; a Parameter is a tensor, a set a list, a
/// torch.device a string such as "cuda:0". A module or an optimizer of LibTorch and a module of TorchScript are one
/// dictionary of their attributes, with names such as "block.conv.weight"; their code is not read. Tensors that share
/// memory in the file share it in the result, as windows on their storages. They are on the CPU unless `device` is
/// given; which device they were saved from does not matter. What PyTorch conjugates or negates lazily has its values
/// in a copy of the storage.
///
/// Throws Error, naming `path`, when the file is missing, damaged (TANDEM_IGNORE_CHECKSUMS=1 ignores checksums) or
/// refused; on tensors of dtypes that Tandem lacks (float8, …), on sparse and quantised ones, on complex
/// numbers outside of tensors, on dictionaries with keys other than strings and numbers, and on more than 100 levels.
IValue load_pt(const std::string& path, const optional<Device>& device = nullopt);
/// The same for a file in memory; `name` replaces the path in messages.
IValue parse_pt(const void* data, std::size_t bytes, const std::string& name, const optional<Device>& device = nullopt);

/// Writes a file that torch.load(path, weights_only=True) reads. It appears complete or not at all. Tensors that share
/// a storage share it in the file; a view is therefore saved with all of its storage, as by PyTorch. Throws Error on
/// failure. Memory: only copies of tensors on other devices than the CPU.
void save_pt(const std::string& path, const IValue& value);
/// The same for a state dict.
void save_pt(const std::string& path, const OrderedDict<std::string, Tensor>& state);
/// The contents of such a file.
std::string pt_bytes(const IValue& value);

/// The tensors of a dictionary with string keys, in its order. With `key`, the dictionary under that key of `value`;
/// dots separate levels. Of a module of TorchScript, attributes that are no tensors are left out. Throws Error, listing
/// the keys, if there is no such dictionary or it contains something else.
OrderedDict<std::string, Tensor> state_dict_of(const IValue& value, const std::string& key = {});

}  // namespace serialize

/// LibTorch's names for parse_pt and pt_bytes.
std::vector<char> pickle_save(const IValue& value);
IValue pickle_load(const std::vector<char>& data);

}  // namespace tandem
