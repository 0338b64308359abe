// Sequential, AnyModule, ModuleList, ModuleDict, ParameterList, OrderedDict.
#include <doctest/doctest.h>

#include <limits>

#include <sstream>

#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/nn/expanding_array.h"
#include "tandem/nn/layers/batch_norm.h"
#include "tandem/nn/layers/dropout.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/module_dict.h"
#include "tandem/nn/module_list.h"
#include "tandem/nn/parameter_list.h"
#include "tandem/nn/sequential.h"

using namespace tandem;

namespace {

struct TwoInputsImpl : nn::Module {
  Tensor forward(Tensor a, const Tensor& b) { return a + b; }
};
TANDEM_MODULE(TwoInputs);
struct CountImpl : nn::Module {
  int64_t forward(const Tensor& x) { return x.numel(); }
};
TANDEM_MODULE(Count);
struct WithDefaultImpl : nn::Module {
  Tensor forward(Tensor x, double factor = 3) { return x * factor; }

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, nn::AnyValue(3.0)})
};
TANDEM_MODULE(WithDefault);
struct Joined : nn::Module {
  std::string forward(std::string a, const std::string& b, std::string&& c) { return a + b + c; }
};

float first(const Tensor& t) { return t.data_ptr<float>()[0]; }

}  // namespace

TEST_CASE("a sequence of modules, functions and shared pointers") {
  nn::Sequential net(
      nn::Linear(2, 3), [](const Tensor& x) { return x * 2; }, nn::Functional(relu),
      std::make_shared<nn::LinearImpl>(3, 1));
  CHECK(net->size() == 4);
  const Tensor x = ones({5, 2});
  const Tensor by_hand = net->at<nn::LinearImpl>(3).forward(relu(net->at<nn::LinearImpl>(0).forward(x) * 2));
  CHECK(first(net->forward(x)) == first(by_hand));
  CHECK(first(net(x)) == first(by_hand));
  CHECK(net->named_parameters().keys() == std::vector<std::string>{"0.weight", "0.bias", "3.weight", "3.bias"});
}

TEST_CASE("a sequence with names, nested, printed and cloned") {
  nn::Sequential inner(nn::Linear(3, 3));
  nn::Sequential net({{"fc", nn::Linear(2, 3)}, {"inner", inner}});
  net->push_back("last", nn::Linear(nn::LinearOptions(3, 1).bias(false)));
  CHECK(net->forward(ones({4, 2})).sizes() == IntArrayRef{4, 1});
  std::ostringstream out;
  out << net;
  CHECK(out.str() ==
        "tandem::nn::Sequential(\n"
        "  (fc): tandem::nn::Linear(in_features=2, out_features=3, bias=true)\n"
        "  (inner): tandem::nn::Sequential(\n"
        "    (0): tandem::nn::Linear(in_features=3, out_features=3, bias=true)\n"
        "  )\n"
        "  (last): tandem::nn::Linear(in_features=3, out_features=1, bias=false)\n"
        ")");
  net->eval();
  auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(net->clone());
  CHECK(!copy->is_training());
  CHECK(copy->named_parameters().keys() == net->named_parameters().keys());
  CHECK(first(copy->forward(ones({1, 2}))) == first(net->forward(ones({1, 2}))));
  nn::init::zeros_(copy->parameters()[0]);
  CHECK(first(net->parameters()[0]) != 0);
}

TEST_CASE("clones of containers keep every module's mode") {
  nn::Sequential block(nn::Linear(2, 2), nn::BatchNorm1d(2));
  nn::Sequential net(block, nn::Dropout(0.5));
  block->ptr(1)->eval();  // a frozen BatchNorm in a net in training mode
  nn::ModuleList list(net);
  nn::ModuleDict dict;
  dict->insert("net", net);
  const auto modes = [](const nn::Module& module) {
    std::string out;
    for (const auto& m : module.modules()) out += m->is_training() ? "t" : "e";
    return out;
  };
  CHECK(modes(*net) == "tttet");
  CHECK(modes(*net->clone()) == "tttet");
  for (const bool on : {true, false}) {
    list->train(on);
    dict->train(on);
    net->train(true);
    block->ptr(1)->eval();
    CHECK(modes(*list->clone()) == (on ? "ttttet" : "etttet"));
    CHECK(modes(*dict->clone()) == (on ? "ttttet" : "etttet"));
  }
}

TEST_CASE("argument and result types in a sequence") {
  nn::Sequential net{TwoInputs(), Count()};
  CHECK(net->forward<int64_t>(ones({2, 3}), ones({2, 3})) == 6);
  CHECK_THROWS_WITH_AS(net->forward(ones({1}), ones({1})), doctest::Contains("asked for type tandem::Tensor"), Error);
  CHECK_THROWS_WITH_AS(net->forward<int64_t>(ones({1})),
                       doctest::Contains("TwoInputsImpl's forward() method expects 2 argument(s), but received 1. If "),
                       Error);
  CHECK_THROWS_WITH_AS(net->forward<int64_t>(ones({1}), 3),
                       doctest::Contains("Expected argument #1 to be of type tandem::Tensor, but received value of "
                                         "type int in forward() of "),
                       Error);
  CHECK_THROWS_WITH_AS(nn::Sequential()->forward(ones({1})), doctest::Contains("empty"), Error);
  nn::Sequential defaults(WithDefault(), nn::Linear(2, 2));
  CHECK(defaults->forward(ones({1, 2})).sizes() == IntArrayRef{1, 2});
  CHECK_THROWS_WITH_AS(defaults->forward(ones({1}), 1.0, 2),
                       doctest::Contains("expects at least 1 argument(s) and at most 2 argument(s), but received 3."),
                       Error);
}

TEST_CASE("a module from a reference is copied") {
  const nn::Linear linear(2, 1);
  nn::LinearImpl& impl = *nn::Linear(linear);
  CHECK(nn::AnyModule(impl).ptr() != linear.ptr());
  CHECK(nn::AnyModule(impl).get<nn::LinearImpl>().weight.is_same(linear->weight));
  nn::Sequential net;
  net->push_back(impl);
  net->push_back("named", *linear);
  CHECK(net->size() == 2);
  CHECK(net->ptr(1) != linear.ptr());
}

TEST_CASE("AnyModule") {
  nn::AnyModule any(nn::Linear(2, 1));
  CHECK(any.forward(ones({3, 2})).sizes() == IntArrayRef{3, 1});
  CHECK(any.get<nn::LinearImpl>().options.in_features() == 2);
  CHECK_THROWS_WITH_AS(any.ptr<CountImpl>(),
                       doctest::Contains("Attempted to cast module of type tandem::nn::LinearImpl to type "), Error);
  const nn::Linear same = any.get<nn::Linear>();
  CHECK(same.ptr() == any.ptr());
  nn::AnyModule none;
  CHECK_THROWS_WITH_AS(none.get<nn::Linear>(), doctest::Contains("Cannot call get() on an empty AnyModule"), Error);
  CHECK_THROWS_WITH_AS(none.type_info(), doctest::Contains("Cannot call type_info() on an empty AnyModule"), Error);
  CHECK_THROWS_WITH_AS(none.forward(ones({1})), doctest::Contains("Cannot call forward() on an empty AnyModule"),
                       Error);
  nn::AnyValue number(5);
  CHECK_THROWS_WITH_AS(number.get<float>(), "Attempted to cast AnyValue to float, but its actual type is int", Error);
}

TEST_CASE("a forward with an rvalue reference, with and without hooks") {
  auto module = std::make_shared<Joined>();
  nn::AnyModule any(module);
  const auto run = [&] { return any.forward<std::string>(std::string("a"), std::string("b"), std::string("c")); };
  CHECK(run() == "abc");
  int seen = 0;
  module->register_forward_hook([&](nn::Module&, const std::vector<Tensor>&, const Tensor&) { ++seen; });
  CHECK(run() == "abc");
  CHECK(seen == 1);
}

TEST_CASE("containers name the index and their size") {
  const auto words = [](const char* container) { return doctest::Contains(container); };
  nn::Sequential net(nn::Linear(1, 1));
  nn::ModuleList list(nn::Linear(1, 1));
  CHECK_THROWS_WITH_AS(net->ptr(7), words("Index out of range: 7 of a Sequential of size 1"), IndexError);
  CHECK_THROWS_WITH_AS(net->at<nn::LinearImpl>(7), words("Index out of range"), IndexError);
  CHECK_THROWS_WITH_AS(net->replace(7, nn::Linear(1, 1)), words("Index out of range"), IndexError);
  CHECK_THROWS_WITH_AS(list->ptr(7), words("Index out of range: 7 of a ModuleList of size 1"), IndexError);
  CHECK_THROWS_WITH_AS(list->insert(7, nn::Linear(1, 1)), words("Index out of range"), IndexError);

  CHECK(nn::AnyModule().is_empty());
  CHECK_THROWS_WITH_AS(nn::AnyModule().ptr(), doctest::Contains("Cannot call ptr() on an empty AnyModule"), Error);
}

TEST_CASE("using an empty holder throws") {
  nn::Linear fc{nullptr};
  CHECK(fc.is_empty());
  CHECK_THROWS_WITH_AS(fc(ones({1, 1})), doctest::Contains("Accessing empty ModuleHolder"), Error);
}

TEST_CASE("ModuleList, ModuleDict, ParameterList") {
  nn::ModuleList list(nn::Linear(1, 2), nn::Linear(2, 3));
  list->insert(1, nn::Linear(2, 2));
  CHECK(list->size() == 3);
  CHECK(list->at<nn::LinearImpl>(2).options.out_features() == 3);
  CHECK(list->named_parameters().keys()[2] == "1.weight");
  CHECK_THROWS_AS(list->ptr(3), IndexError);
  Tensor x = ones({1, 1});
  for (const auto& module : *list) x = module->as<nn::Linear>()->forward(x);
  CHECK(x.sizes() == IntArrayRef{1, 3});

  nn::ModuleDict dict;
  dict->insert("a", nn::Linear(1, 1));
  dict->insert("b", nn::Linear(1, 2));
  CHECK(dict->keys() == std::vector<std::string>{"a", "b"});
  CHECK(dict->pop("a")->as<nn::Linear>()->options.out_features() == 1);
  CHECK(!dict->contains("a"));
  CHECK_THROWS_WITH_AS(dict["x"], doctest::Contains("'x' is not defined"), Error);

  nn::ParameterList parameters(std::vector<Tensor>{ones({2}, requires_grad()), zeros({3})});
  CHECK(parameters->named_parameters().keys() == std::vector<std::string>{"0", "1"});
  auto copy = std::dynamic_pointer_cast<nn::ParameterListImpl>(parameters->clone());
  CHECK(copy->size() == 2);
  CHECK(!(*copy)[0].is_same((*parameters)[0]));
  CHECK((*copy)[0].is_same(copy->parameters()[0]));
}

TEST_CASE("ModuleDict: update and items") {
  nn::ModuleDict dict, other;
  dict->update({{"a", nn::Linear(1, 1).ptr()}, {"b", nn::Linear(1, 2).ptr()}});
  other->insert("b", nn::Linear(1, 3));
  dict->update(*other);
  CHECK(dict->at<nn::LinearImpl>("b").options.out_features() == 3);
  OrderedDict<std::string, std::shared_ptr<nn::Module>> more;
  more.insert("c", nn::Linear(1, 4).ptr());
  dict->update(more);
  CHECK(dict->items().size() == 3);
  CHECK(dict->items()[2].first == "c");
}

TEST_CASE("ParameterList of tensors, and its items") {
  const Tensor p = ones({2}, requires_grad());
  nn::ParameterList list(p, zeros({3}));
  list->append(list->named_parameters()[0]);
  list->extend(*nn::ParameterList(ones({1})));
  CHECK(list->size() == 4);
  CHECK((*list)[2].is_same(p));
  std::string names;
  for (const auto& item : *list) names += item.key();
  CHECK(names == "0123");
  list[0] = zeros({5}, requires_grad());
  CHECK(list->parameters()[0].size(0) == 5);
  CHECK_THROWS_WITH_AS(list->at(4), "Index out of range: 4 of a ParameterList of size 4", IndexError);
  *list += *list;
  CHECK(list->size() == 8);
  CHECK((*list)[6].is_same(p));
}

TEST_CASE("ParameterDict") {
  const Tensor p = ones({2}, requires_grad());
  nn::ParameterDict dict(OrderedDict<std::string, Tensor>{{"a", p}, {"b", zeros({3})}});
  CHECK(dict->keys() == std::vector<std::string>{"a", "b"});
  CHECK(dict["a"].is_same(p));
  CHECK(!dict->get("b").requires_grad());
  CHECK_THROWS_AS(dict->insert("a", p), Error);
  CHECK_THROWS_AS(dict->get("c"), Error);
  dict->insert("c", ones({1}));
  CHECK_THROWS_WITH_AS(dict->update(OrderedDict<std::string, Tensor>{{"b", p}, {"d", p}}),
                       doctest::Contains("Parameter 'd' is not defined"), Error);
  CHECK(!dict->get("b").is_same(p));
  dict->update(OrderedDict<std::string, Tensor>{{"b", p}});
  CHECK(dict->size() == 3);
  CHECK(dict->get("b").is_same(p));
  auto copy = std::dynamic_pointer_cast<nn::ParameterDictImpl>(dict->clone());
  CHECK(copy->get("a").requires_grad());
  CHECK(!copy->get("a").is_same(p));
  CHECK(dict->pop("a").is_same(p));
  CHECK(!dict->contains("a"));
  CHECK(copy->contains("a"));
  std::ostringstream text;
  text << dict;
  CHECK(text.str().find("(c)") != std::string::npos);
  dict->clear();
  CHECK(dict->empty());
}

TEST_CASE("OrderedDict") {
  OrderedDict<std::string, int> dict{{"b", 1}, {"a", 2}};
  CHECK(dict[0].key() == "b");
  dict.insert("c", 3);
  dict.erase("b");
  CHECK(dict.keys() == std::vector<std::string>{"a", "c"});
  CHECK(dict["c"] == 3);
  CHECK(dict.find("b") == nullptr);
  for (auto& [key, value] : dict) value += static_cast<int>(key.size());
  CHECK(dict["a"] == 3);
  CHECK_THROWS_AS(dict.insert("a", 1), Error);
  CHECK_THROWS_AS(dict["b"], Error);
  CHECK(dict.front().key() == "a");
  CHECK(std::as_const(dict).back().value() == 4);
  const OrderedDict<std::string, int> empty;
  CHECK_THROWS_WITH_AS(empty.front(), "Called front() on an empty OrderedDict", Error);
  CHECK_THROWS_WITH_AS(empty.back(), "Called back() on an empty OrderedDict", Error);
}

TEST_CASE("ExpandingArray") {
  CHECK_THROWS_WITH_AS(ExpandingArray<2>({1, 2, 3}), "Expected 2 values, but instead got 3", Error);
}
