// Lists and dictionaries of values, symbols of sizes, reductions, and what else programs name beside tensors.
#include <doctest/doctest.h>
#include <torch/torch.h>

#include <filesystem>

namespace {

// As operators that a program registers declare their arguments.
at::Tensor filled(at::SymIntArrayRef sizes, c10::SymInt value) {
  return torch::full(sizes, value.guard_int(__FILE__, __LINE__));
}
c10::SymInt area(c10::SymIntArrayRef sizes) {
  c10::SymInt all = 1;
  for (const c10::SymInt& size : sizes) all *= size;
  return all + 0;
}
int64_t number_of(torch::Reduction::Reduction reduction) { return reduction; }

std::string printed(const c10::IValue& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

struct NetImpl : torch::nn::Module {
  int answer = 42;
};
struct Net : torch::nn::ModuleHolder<NetImpl> {
  using torch::nn::ModuleHolder<NetImpl>::ModuleHolder;
  int answer() const { return impl_->answer; }
};

}  // namespace

TEST_CASE("values are printed and compared") {
  CHECK(printed({}) == "None");
  CHECK(printed(3) == "3");
  CHECK(printed(1.5) == "1.5");
  CHECK(printed(-2.0) == "-2.");
  CHECK(printed(1e18) == "1000000000000000000.");
  CHECK(printed(1e19) == "1e+19");
  CHECK(printed(0.1) == "0.10000000000000001");
  CHECK(printed(1.0 / 0.0) == "inf");
  CHECK(printed(true) == "True");
  CHECK(printed("te\"xt") == "te\"xt");
  CHECK(printed(std::vector<int64_t>{1, 2}) == "[1, 2]");
  CHECK(printed(std::vector<double>{1, 2.5}) == "[1., 2.5]");
  CHECK(printed(std::make_tuple(1, 2.0)) == "(1, 2.)");
  CHECK(printed(std::make_tuple(1)) == "(1,)");
  c10::Dict<std::string, int64_t> dict;
  dict.insert("a", 1);
  dict.insert("b", 2);
  CHECK(printed(dict) == "{a: 1, b: 2}");
  CHECK(printed(torch::ones(1)).find("CPUFloatType{1}") != std::string::npos);

  CHECK(std::string("a") == c10::IValue("a"));
  CHECK(c10::IValue("a") != std::string("b"));
  CHECK_FALSE(c10::IValue(1) == c10::IValue(1.0));
  CHECK(c10::IValue() == c10::IValue());
  CHECK(c10::IValue(true) != c10::IValue(false));
  CHECK(c10::IValue(2.5) == c10::IValue(2.5));
  CHECK(c10::IValue(std::make_tuple(1, "a")) == c10::IValue(std::make_tuple(1, "a")));
  CHECK(c10::IValue(std::vector<int64_t>{1, 2}) != c10::IValue(std::vector<int64_t>{1, 3}));
  c10::Dict<std::string, int64_t> same, longer;
  same.insert("b", 2);
  same.insert("a", 1);
  CHECK(c10::IValue(dict) == c10::IValue(same));
  same.insert_or_assign("a", 3);
  CHECK(c10::IValue(dict) != c10::IValue(same));
  CHECK(c10::IValue(dict) != c10::IValue(longer));
  const torch::Tensor t = torch::ones(2);
  CHECK(c10::IValue(t) == c10::IValue(t));
  CHECK(c10::IValue(t) != c10::IValue(torch::ones(2)));
}

TEST_CASE("lists and dictionaries") {
  c10::List<at::Tensor> tensors;
  tensors.push_back(torch::ones(2));
  tensors.emplace_back(tensors.get(0));
  CHECK(tensors.size() == 2);
  c10::List<int64_t> numbers({1, 2});
  numbers.set(0, 5);
  numbers.append(c10::List<int64_t>({7}));
  CHECK(numbers.vec() == std::vector<int64_t>{5, 2, 7});
  CHECK(numbers.extract(2) == 7);
  CHECK_THROWS_AS(numbers.get(3), std::out_of_range);
  CHECK(c10::IValue(numbers).isIntList());
  CHECK(c10::IValue(numbers).toIntList().get(1) == 2);
  CHECK(c10::IValue(tensors).toTensorList().get(1).sum().item<float>() == 2);
  CHECK(c10::IValue(std::vector<double>{1.5}).toDoubleList().copy().get(0) == 1.5);

  c10::impl::GenericDict dict(c10::StringType::get(), c10::AnyType::get());
  dict.insert("a", 1);
  c10::impl::GenericList list(c10::AnyType::get());
  list.push_back("text");
  dict.insert("b", list);
  const c10::IValue value = dict;
  CHECK(value.toGenericDict().at("b").toList().get(0).toStringRef() == "text");
  const c10::impl::GenericDict copy = value.toGenericDict();
  CHECK(copy.at("a") == c10::IValue(1));
}

TEST_CASE("sizes as symbols are integers") {
  const at::Tensor x = filled(std::vector<c10::SymInt>{2, 3}, 4);
  CHECK(x.sizes() == at::IntArrayRef({2, 3}));
  CHECK(x.sum().item<float>() == 24);
  CHECK(area(x.sizes()) == 6);
  CHECK(area({c10::SymInt(2), c10::SymInt(5)}).expect_int() == 10);
  CHECK(C10_AS_INTARRAYREF_SLOW(c10::fromIntArrayRefSlow(x.sizes())) == x.sizes());
  CHECK(c10::asIntArrayRefSlowOpt(x.sizes()).has_value());
  c10::SymInt n = 7;
  n += 1;
  n /= 2;
  CHECK(n.maybe_as_int() == 4);
  CHECK_FALSE(n.is_symbolic());
  CHECK(x.view({n - 1, 2}).size(0) == 3);
}

TEST_CASE("reductions as types, holders' modules, arrays, addresses and threads") {
  CHECK(number_of(torch::Reduction::Sum) == 2);
  CHECK(number_of(at::Reduction::None) == 0);
  CHECK(at::l1_loss(torch::zeros(2), torch::ones(2), at::Reduction::Mean).item<float>() == 1);
  CHECK(Net().answer() == 42);
  const int three[] = {1, 2, 3};
  CHECK(torch::tensor(three).equal(torch::tensor({1, 2, 3})));
  const torch::Tensor a = torch::ones(2);
  const at::DataPtr first = a.storage().data_ptr(), second = a.storage().data_ptr();
  CHECK(first == second);
  CHECK(first != nullptr);
  CHECK(nullptr != first);
  CHECK(at::getNumGPUs() == torch::cuda::device_count());
  CHECK_FALSE(at::in_parallel_region());
  CHECK(at::get_thread_num() == 0);
  CHECK(at::intraop_default_num_threads() == at::get_num_threads());
  CHECK(at::get_parallel_info().find("get_num_threads() : ") != std::string::npos);
  std::atomic<int> inside = 0, too_high = 0;
  at::parallel_for(0, 64, 1, [&](int64_t, int64_t) {
    if (at::in_parallel_region()) ++inside;
    if (at::get_thread_num() >= at::get_num_threads()) ++too_high;
  });
  CHECK(inside == (at::get_num_threads() > 1 ? 64 : 0));
  CHECK(too_high == 0);
  int called = 0;
  at::intraop_launch([&] { ++called; });
  CHECK(called == 1);
}

TEST_CASE("a vector in braces is saved, and names of std are in torch") {
  using namespace torch;
  const string path = std::filesystem::temp_directory_path() / ("tandem-values-" + to_string(getpid()));
  save({ones(2), zeros(3)}, path);
  std::vector<Tensor> back;
  load(back, path);
  std::filesystem::remove(path);
  CHECK(back.size() == 2);
  CHECK(back[1].equal(zeros(3)));
}

TEST_CASE("a function is recorded") {
  const std::string path = std::filesystem::temp_directory_path() / ("tandem-record-" + std::to_string(getpid()));
  {
    const torch::autograd::profiler::RecordProfile profile(path);
    RECORD_FUNCTION("my own function", std::vector<c10::IValue>());
    RECORD_USER_SCOPE("a second one");
    torch::ones(2).add(1);
  }
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  in.close();
  std::filesystem::remove(path);
  CHECK(text.str().find("my own function") != std::string::npos);
  CHECK(text.str().find("a second one") != std::string::npos);
}
