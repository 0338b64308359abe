// Per-replica generators, and rethrowing the first exception.
#include "tandem/parallel/shared/parallel_apply.h"

#include <new>
#include <typeinfo>

#include "tandem/autograd/inherited_autocast.h"
#include "tandem/core/random/splitmix64.h"

namespace tandem::parallel {
namespace {

template <class... E>
void rethrow_as(const std::exception& error, const std::string& place) {
  ((typeid(error) == typeid(E) ? throw E(place + error.what()) : void()), ...);
}

}  // namespace

void rethrow_from(const std::string& place, const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (Error& error) {
    if (error.is_shared()) throw;
    ErrorPlace inside = error.place();
    inside.outside.insert(0, place);
    error.set_place(std::move(inside));
    throw;
  } catch (const std::exception& error) {
    rethrow_as<std::runtime_error, std::logic_error, std::invalid_argument, std::out_of_range, std::domain_error,
               std::length_error, std::range_error>(error, place);
    if (typeid(error) == typeid(std::bad_alloc)) fail(place, error.what());
    throw;
  }
}

void run_replicas(ArrayRef<Device> devices, FunctionRef<void(std::size_t)> job) {
  if (devices.size() == 0) return;
  const Generator::Draw draw = default_generator().next();
  const uint64_t step = mixed(draw.seed ^ mixed(draw.offset));
  const autocast::detail::State callers = autocast::detail::state;
  const auto errors = run_on_devices(devices, [&](std::size_t i) {
    const autocast::detail::InheritedAutocast same_precision(callers);
    const GeneratorGuard guard(Generator(mixed(step + i)));
    job(i);
  });
  for (std::size_t i = 0; i < errors.size(); ++i)
    if (errors[i]) rethrow_from(concat("replica ", i, " on ", devices[i], ": "), errors[i]);
}

}  // namespace tandem::parallel
