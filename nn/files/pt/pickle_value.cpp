// Nodes of a pickle as IValues.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "tandem/nn/files/pt/pickle.h"

namespace tandem::serialize::pt {
namespace {

// IValue's dictionaries compare a new key with all others; this bounds the comparisons of a file.
constexpr std::size_t kMaxComparisons = std::size_t{1} << 29;

class Converter {
 public:
  explicit Converter(const std::string& file) : file_(file) {}

  IValue convert(Node* node, int level) {
    check(level < kMaxLevels, file_, ": values are nested more than ", kMaxLevels, " levels deep");
    if (const auto found = done_.find(node); found != done_.end()) {
      // What is shared counts each time, because whoever walks through the value meets it each time.
      count(found->second.count);
      check(level + found->second.levels <= kMaxLevels, file_, ": values are nested more than ", kMaxLevels,
            " levels deep");
      deepest_ = std::max(deepest_, level + found->second.levels);
      return found->second.value;
    }
    check(open_.insert(node).second, file_, ": a value contains itself");
    const std::size_t before = count_;
    const int deepest = std::exchange(deepest_, level + 1);
    count(1 + node->text.size() / 16);
    IValue value = fresh(*node, level);
    open_.erase(node);
    if (!node->items.empty()) done_.emplace(node, Done{value, count_ - before, deepest_ - level});
    deepest_ = std::max(deepest_, deepest);
    return value;
  }

 private:
  struct Done {
    IValue value;
    std::size_t count;
    int levels;
  };

  void count(std::size_t more) {
    count_ += more;  // each term is at most kMaxValues
    check(count_ <= kMaxValues, file_, ": values that are shared would count more than ", kMaxValues, " in all");
  }

  IValue fresh(const Node& node, int level) {
    switch (node.kind) {
      case Node::kNone:
        return {};
      case Node::kBool:
        return node.integer != 0;
      case Node::kInt:
        return node.integer;
      case Node::kDouble:
        return node.number;
      case Node::kString:
        return node.text;
      case Node::kTensor:
        return node.tensor;
      case Node::kTuple:
        return ivalue::Tuple::create(elements(node, level));
      case Node::kList:
        return node.typed ? typed(node, level) : IValue(elements(node, level));
      case Node::kDict:
        return node.typed ? object(node, level) : dictionary(node, level);
      case Node::kName:
        check(node.name != Name::kUnknown, file_, ": ", refusal_of(node));
        break;
      case Node::kStorage:
        break;
    }
    fail(file_, ": ", kind_name(node.kind), " is stored as a value");
  }

  std::vector<IValue> elements(const Node& node, int level) {
    std::vector<IValue> out;
    for (Node* item : node.items) out.push_back(convert(item, level + 1));
    return out;
  }
  template <class T>
  IValue list_of(const std::vector<IValue>& values) {
    std::vector<T> out;
    for (const IValue& value : values) out.push_back(value.to<T>());
    return out;
  }
  IValue typed(const Node& node, int level) {
    const std::vector<IValue> values = elements(node, level);
    switch (node.name) {
      case Name::kIntList:
        return list_of<int64_t>(values);
      case Name::kDoubleList:
        return list_of<double>(values);
      case Name::kTensorList:
        return list_of<Tensor>(values);
      default:
        return values;
    }
  }
  IValue object(const Node& node, int level) {
    GenericDict out;
    std::unordered_set<std::string> names;
    add_attributes(node, "", level, names, out);
    return out;
  }
  // Attributes of objects in objects get names with dots, as in a state dict. An object that several attributes share
  // has its entries several times, and each is counted.
  void add_attributes(const Node& node, const std::string& prefix, int level, std::unordered_set<std::string>& names,
                      GenericDict& out) {
    check(level < kMaxLevels, file_, ": values are nested more than ", kMaxLevels, " levels deep");
    for (std::size_t i = 0; i < node.items.size(); i += 2) {
      Node &key = *node.items[i], &value = *node.items[i + 1];
      check(key.kind == Node::kString, file_, ": the name of an attribute is ", kind_name(key.kind), ", not a string");
      const std::string name = prefix + key.text;
      count(1 + name.size() / 16);
      if (value.kind == Node::kDict && value.typed) {
        check(open_.insert(&value).second, file_, ": a value contains itself");
        add_attributes(value, name + ".", level + 1, names, out);
        open_.erase(&value);
        continue;
      }
      check(names.insert(name).second, file_, ": two attributes have the name ", name.substr(0, 100));
      out.append(name, convert(&value, level + 1));
    }
  }
  IValue dictionary(const Node& node, int level) {
    comparisons_ += node.items.size() * node.items.size() / 8;  // at most kMaxNodes squared
    check(comparisons_ <= kMaxComparisons, file_, ": the dictionaries have too many entries");
    GenericDict out;
    for (std::size_t i = 0; i < node.items.size(); i += 2) {
      const Node* key = node.items[i];
      check(key->kind == Node::kString || key->kind == Node::kInt || key->kind == Node::kDouble ||
                key->kind == Node::kBool,
            file_, ": the key of a dictionary is ", kind_name(key->kind), ", not a string or a number");
      IValue name = convert(node.items[i], level + 1);
      out.insert_or_assign(std::move(name), convert(node.items[i + 1], level + 1));
    }
    return out;
  }

  static constexpr std::size_t kMaxValues = std::size_t{1} << 22;
  const std::string& file_;
  std::unordered_map<const Node*, Done> done_;
  std::unordered_set<const Node*> open_;
  std::size_t count_ = 0, comparisons_ = 0;
  int deepest_ = 0;  // levels below the root that the innermost open value has
};

}  // namespace

IValue value_of(Node* node, const std::string& file) { return Converter(file).convert(node, 0); }

}  // namespace tandem::serialize::pt
